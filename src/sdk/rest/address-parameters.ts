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

function otherPairs(url: URL, names: readonly string[]): string[] {
  const isOther = (pair: string) => ![...new URLSearchParams(pair).keys()].some((name) => names.includes(name));
  return url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && isOther(pair));
}
