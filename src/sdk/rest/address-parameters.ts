// Parameters of addresses. All others stay as they are: a server may refuse its own link if a character is encoded in another way.

/** An address with further parameters. One that the address already has is replaced. */
export function withParameters(url: URL, parameters: Readonly<Record<string, string>>): URL {
  const names = Object.keys(parameters);
  if (names.length === 0) return url;
  const changed = new URL(url);
  const added = Object.entries(parameters).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  changed.search = [...otherPairs(url, names), ...added].join('&');
  return changed;
}

/** An address without these parameters. */
export function withoutParameters(url: URL, names: readonly string[]): URL {
  if (!names.some((name) => url.searchParams.has(name))) return url;
  const changed = new URL(url);
  changed.search = otherPairs(url, names).join('&');
  return changed;
}

/** A text as a form sends it. */
export function formEncoded(text: string): string {
  return String(new URLSearchParams({ '': text })).slice(1);
}

/** How often a server may encode an address that it repeats within another one. */
const ENCODED_MAX = 4;

/** An address as it is, and each text that decoding it again and again gives. */
export function decodings(address: string): string[] {
  const texts = [address];
  for (let last = ''; texts.length <= ENCODED_MAX && texts.at(-1) !== last; ) {
    last = texts.at(-1) ?? '';
    texts.push(last.replaceAll(/(?:%[\da-f]{2})+/gi, (run) => String(Buffer.from(run.replaceAll('%', ''), 'hex'))));
  }
  return texts;
}

function otherPairs(url: URL, names: readonly string[]): string[] {
  const isOther = (pair: string) => ![...new URLSearchParams(pair).keys()].some((name) => names.includes(name));
  return url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && isOther(pair));
}
