/** The text behind percent encoding; the text itself if it is not encoded and contains a `%`. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Encodes by RFC 3986, which reserves more characters than `encodeURIComponent` encodes. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
