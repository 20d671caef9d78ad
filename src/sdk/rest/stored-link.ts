// A delta link as the cursor has it, and so the ledger. A server repeats parameters of the request in its links, and the config may have a
// secret among them or in `base` (I7). So the link is stored without `base` and without values that the config gives, and gets them again
// when it is used. All else stays as the server wrote it, because some servers refuse their own link if a character of it is changed.

import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { formEncoded } from './address-parameters.ts';
import { fill, placeholdersIn, textOf } from './placeholders.ts';
import { encoded, type RestRead } from './read-pass.ts';

/** How servers write a value in an address. The first one is that of our requests. */
const ENCODINGS = {
  own: encoded,
  strict: encodeURIComponent,
  form: formEncoded,
  /** With the fewest signs. */
  plain: (value: string) => asWritten(value.replaceAll(/[#%&+]/g, encodeURIComponent)),
  /** Without any. A `+` in it would be a space. */
  raw: asWritten,
};
type Encoding = keyof typeof ENCODINGS;

/** A link below `base` begins with `./`. */
export interface StoredLink {
  link: string;
  /** The positions of the parameters whose values the config has, each with the encoding of its value. */
  own?: Record<string, Encoding>;
}

/** The link as it may be stored; null if the server has written a secret into it under another name, or within another value. */
export function linkToStore(read: RestRead, link: string): StoredLink | null {
  const url = new URL(link);
  const values = valuesOfConfig(read);
  const own: Record<string, Encoding> = {};
  const pairs = pairsOf(url).map((pair, at) => {
    const [rawName = '', ...rest] = pair.split('=');
    const [[name, value] = ['', '']] = new URLSearchParams(pair);
    const encoding = rest.length === 0 ? null : encodingOf(values.get(name), { value, written: rest.join('=') });
    if (encoding === null) return pair;
    own[at] = encoding;
    return rawName;
  });
  const hasOwn = Object.keys(own).length > 0;
  if (hasOwn) url.search = pairs.join('&');
  const { href } = read.client.base;
  const below = url.href.startsWith(href) ? `./${url.href.slice(href.length)}` : url.href;
  if (read.client.hasSecret(below)) return null;
  return { link: below, ...(hasOwn ? { own } : {}) };
}

/** The link with the values that the config has now; null if the config lacks one of them. */
export function linkFrom(read: RestRead, { link, own = {} }: Readonly<Record<string, JsonValue>>): string | null {
  const { base } = read.client;
  if (typeof link !== 'string' || !URL.canParse(link, base.href) || !isJsonObject(own)) return null;
  const url = new URL(link, base);
  const values = valuesOfConfig(read);
  const pairs = pairsOf(url);
  for (const [at, encoding] of Object.entries(own)) {
    const name = pairs[Number(at)];
    const value = values.get(new URLSearchParams(name).keys().next().value ?? '');
    if (name === undefined || value === undefined || !isEncoding(encoding)) return null;
    pairs[Number(at)] = `${name}=${ENCODINGS[encoding](value)}`;
  }
  if (Object.keys(own).length > 0) url.search = pairs.join('&');
  return url.href;
}

/** The parameters that all requests have, or all but the first, as far as they do not depend on the page. */
function valuesOfConfig({ stream: { query, page } }: RestRead): Map<string, string> {
  const later = page.by === 'cursor' || page.by === 'keyset' ? page.query : undefined;
  const size = 'size' in page && page.size !== undefined ? { size: page.size } : {};
  const fixed = Object.entries({ ...query, ...later }).filter(([, value]) =>
    placeholdersIn(value).every((name) => name in size),
  );
  return new Map(fixed.map(([name, value]) => [name, textOf(fill(value, size))]));
}

function pairsOf({ search }: URL): string[] {
  return search === '' ? [] : search.slice(1).split('&');
}

/** The encoding of a value of the config in a link; null if the link has another value. */
function encodingOf(
  ofConfig: string | undefined,
  { value, written }: { value: string; written: string },
): Encoding | null {
  if (ofConfig === undefined) return null;
  const found = Object.keys(ENCODINGS)
    .filter(isEncoding)
    .find((encoding) => ENCODINGS[encoding](ofConfig) === written);
  return found ?? (value === ofConfig ? 'own' : null);
}

/** A text as the URL standard keeps it in a query. */
function asWritten(text: string): string {
  return new URL(`?=${text.replaceAll('#', '%23')}`, 'https://plain.invalid').search.slice(2);
}

function isEncoding(value: JsonValue): value is Encoding {
  return typeof value === 'string' && Object.hasOwn(ENCODINGS, value);
}
