// Where the next read of changes begins: at a time of the server's clock, or behind a delta link.

import { sha256Url } from '../../lib/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isSecretName } from '../../lib/text/secret-names.ts';
import { sourceFault } from '../connector.ts';
import { valueAt } from '../document-path.ts';
import { formEncoded } from './address-parameters.ts';
import { fill, placeholdersIn, textOf } from './placeholders.ts';
import { encoded, incomplete, type RestRead } from './read-pass.ts';
import type { RestAnswer } from './rest-client.ts';

/** Where the next read of changes begins. */
type RestCursor = { request: string } & ({ since: number } | { link: string });

/** An HTTP date. `Date.parse` alone would also take `1` for a date. */
const DATE = /^[A-Za-z]{3,9},? .*\d\d:\d\d/;

/** The time of an answer by the clock of its server; null if it has none. A cached answer was made earlier. */
export function openedAt({ headers }: RestAnswer): number | null {
  const text = [headers['date']].flat()[0] ?? '';
  const at = DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return null;
  const [age = ''] = /^\d{1,9}$/.exec([headers['age']].flat()[0]?.trim() ?? '') ?? [];
  return at - Number(age) * 1_000;
}

export function deltaLinkIn({ stream, client, name }: RestRead, answer: RestAnswer): string | null {
  const { changes } = stream;
  if (changes === undefined || !('deltaLink' in changes)) return null;
  const link = valueAt(answer.document, changes.deltaLink);
  if (link === undefined || link === null || link === '') return null;
  if (typeof link === 'string') return client.resolve(link, answer.url).href;
  throw sourceFault(`The delta link of ${name} is ${JSON.stringify(link)}, which is no address.`, {
    suggestion: 'Correct `changes.deltaLink` of the stream.',
  });
}

/** A cursor for the ledger. A text says why there is none, and then the next read has to be complete. */
export function cursorAfter(
  read: RestRead,
  { opened, link }: { opened: number | null; link: string | null },
): JsonObject | string | null {
  const { changes } = read.stream;
  if (changes === undefined) return null;
  const request = requestId(read);
  if ('deltaLink' in changes) {
    if (link === null) return null;
    const stored = linkToStore(read, link);
    return stored === null ? secretLink(read) : { request, ...stored };
  }
  if (opened !== null) return { request, since: opened };
  throw incomplete(
    `The answers for ${read.name} have no header Date, so the time of the server is unknown, and changes cannot be read from it.`,
    'Remove `changes` and `reconcile` from the stream, so that each read is complete, or have a proxy pass on the header.',
  );
}

function secretLink({ name }: RestRead): string {
  return `The delta link of ${name} has a secret of the source in it, so it is not stored, and the next read is complete. Send the secret in a header (\`auth\` of the source), or replace \`changes\` of the stream by a filter on the time of the last change.`;
}

/** What the rows of a read depend on. A cursor of another request would skip rows. */
function requestId(read: RestRead): string {
  return digestOf(read, withoutSecrets(read.stream.query));
}

function digestOf({ stream, client }: RestRead, query: JsonObject | undefined): string {
  const { get, method, body, headers, rows, changes, each } = stream;
  return sha256Url(
    JSON.stringify([client.base.href, client.account, get, method, query, body, headers, rows, changes, each]),
  ).slice(0, 16);
}

/** The parameters of a stream. Those with the name of a secret have no value: the request stays the same if a key is renewed. */
function withoutSecrets(query: JsonObject | undefined): JsonObject | undefined {
  if (query === undefined) return undefined;
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, isSecretName(name) ? null : value]));
}

/** A stored cursor, or why a read cannot go on from it. */
export function cursorOf(read: RestRead, stored: JsonValue | null): RestCursor | string {
  const { name, stream } = read;
  if (stored === null) return `${name} was not read completely yet.`;
  const { request, since, ...linked } = isJsonObject(stored) ? stored : {};
  const isLink = stream.changes !== undefined && 'deltaLink' in stream.changes;
  const isWhole = isLink ? typeof linked['link'] === 'string' : typeof since === 'number' && Number.isFinite(since);
  if (typeof request !== 'string' || !isWhole) {
    throw sourceFault(`The stored position of the stream ${name} was not written by this connector.`, {
      suggestion: 'Give the stream another name, so that it is read from the beginning.',
    });
  }
  const link = isLink ? linkFrom(read, linked) : null;
  // Earlier versions have stored the digest of the secrets too.
  const isSame = request === requestId(read) || request === digestOf(read, stream.query);
  if (!isSame || (isLink && link === null)) {
    return `The request of ${name} has changed since its last read.`;
  }
  return link === null ? { request, since: Number(since) } : { request, link };
}

/** A clock that was ahead once has left out the changes that came while the right time was before it. */
export function clockWentBack({ name }: RestRead, { since, opened }: { since: number; opened: number }): string {
  const [now, before] = [opened, since].map((at) => new Date(at).toISOString());
  return `The clock of the server shows ${now}, and at the last read of ${name} it showed ${before}, so changes may be missing.`;
}

export function withoutCursor({ name }: RestRead): string {
  return `The last answer for ${name} has no delta link, so the next read is complete again. Check that the API gives delta links for this request.`;
}

/** A link of a later pass does not lead to what has changed since the first one, whose rows were used. */
export function lateLink({ name }: RestRead): string {
  return `Rows of ${name} came or went during the read, so the delta link at its end may miss changes. The next read is complete again.`;
}

export function lostCursor({ name }: RestRead): string {
  return `The last answer of the changes of ${name} has no delta link, so it is unknown where the next read would begin. If this happens each time, replace \`changes\` of the stream by a filter on the time of the last change.`;
}

// A delta link as the cursor has it, and so the ledger. A server repeats parameters of the request in its links, and the config may have a
// secret among them or in `base` (I7). So the link is stored without `base` and without values that the config gives, and gets them again
// when it is used. All else stays as the server wrote it, because some servers refuse their own link if a character of it is changed.

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
interface StoredLink {
  link: string;
  /** The positions of the parameters whose values the config has, each with the encoding of its value. */
  own?: Record<string, Encoding>;
}

/** The link as it may be stored; null if the server has written a secret into it under another name, or within another value. */
function linkToStore(read: RestRead, link: string): StoredLink | null {
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
function linkFrom(read: RestRead, { link, own = {} }: Readonly<Record<string, JsonValue>>): string | null {
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
