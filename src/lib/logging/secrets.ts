/** How many characters of a key may be shown: the prefix that the platform shows as well. */
const PREFIX_LENGTH = 8;
/** Secrets up to this length are hidden completely. Of longer secrets the first characters may be shown. */
const UNSHOWN_LENGTH_MAX = 12;
/** Shorter texts are not treated as secrets, because ordinary words would be removed. */
export const SECRET_LENGTH_MIN = 8;

export function maskSecret(secret: string): string {
  return `${secret.slice(0, shownLength(secret))}…`;
}

function shownLength(secret: string): number {
  return secret.length > UNSHOWN_LENGTH_MAX ? PREFIX_LENGTH : 0;
}

/**
 * A set of values that must never be printed (I7). Messages do not contain secrets. Scrubbing is a second protection,
 * for texts from elsewhere that may repeat a secret, such as a library's error or an API's answer.
 */
export function createSecretStore() {
  /** Whether each known secret is a key of the API. */
  const known = new Map<string, boolean>();
  /** Secrets that are prepared for the next search. */
  const fresh = new Set<string>();
  const finder = createSecretFinder();

  function find(text: string, searched: Searched, shows = true): { start: number; end: number }[] {
    if (known.size === 0) return [];
    for (const secret of fresh) {
      finder.add({ secret, shown: shownLength(secret), isApiKey: known.get(secret) === true });
    }
    fresh.clear();
    return finder.find(text, searched, shows);
  }

  function scrubbed(text: string, searched: Searched, shows = true): string {
    let clean = '';
    let end = 0;
    for (const range of find(text, searched, shows)) {
      clean += `${text.slice(end, range.start)}…`;
      end = range.end;
    }
    return end === 0 ? text : clean + text.slice(end);
  }

  return {
    /**
     * A secret shorter than `SECRET_LENGTH_MIN` is not remembered.
     *
     * @param kind says that the secret is a key of the API
     */
    add(secret: string, kind?: 'api_key'): void {
      const isApiKey = kind === 'api_key';
      const before = known.get(secret);
      if (secret.length < SECRET_LENGTH_MIN || before === true || before === isApiKey) return;
      known.set(secret, isApiKey);
      fresh.add(secret);
    },
    /**
     * Free text without any known secret. Of a whole secret, the part that may be shown is kept. Of a long secret, any 6
     * characters in a row are removed too. Secrets are also found if they have white space in them or are encoded as
     * percent-encoding, JSON escapes or base64.
     */
    scrub: (text: string): string => scrubbed(text, 'text'),
    /** Like `scrub`, and nothing of a whole secret is kept. */
    scrubWhole: (text: string): string => scrubbed(text, 'text', false),
    /**
     * One value of a document as it may be shown. A value with white space is free text. Any other value may be an id, a
     * key or an address, so only whole secrets and 16 characters in a row are removed: a program that reads the document
     * needs the whole id.
     */
    scrubValue: (value: string): string => scrubbed(value, /\s/.test(value) ? 'text' : 'value'),
    /** True if `scrubValue` would remove something from a value without white space. */
    isInValue: (value: string): boolean => find(value, 'value').length > 0,
    /**
     * True if an id, key, path or URL contains a whole API key or 16 characters in a row of any secret. Then it may
     * neither be stored nor shown. It is never changed, because a changed id is another id.
     */
    isInIdentifier: (identifier: string): boolean => find(identifier, 'identifier').length > 0,
  };
}

export type SecretStore = ReturnType<typeof createSecretStore>;

/**
 * What is searched, and which parts of a secret count there:
 * - `text`: free text. The whole secret, and any 6 characters of a long one.
 * - `value`: one value without white space that is shown. The whole secret, and any 16 characters.
 * - `identifier`: an id, key, path or URL. The whole API key, and any 16 characters of a secret. An identifier of 50,000
 *   shares 6 characters with a key by chance, and a short secret such as `20261128` is a part of ordinary keys.
 */
export type Searched = 'text' | 'value' | 'identifier';

interface FoundSecret {
  /** The secret as it is written. */
  secret: string;
  /** How many of its first characters may be shown. */
  shown: number;
  /** True for a key of the API. It counts in identifiers also if it is short. */
  isApiKey: boolean;
}

/** In free text this many characters in a row reveal a part of a secret. */
const RUN = 6;
/** In an identifier or a value this many characters in a row are no chance. */
const LONG_RUN = 16;
/** Of a shorter secret only the whole is searched for, because its parts may be ordinary words. */
const PARTS_LENGTH_MIN = 16;

/**
 * A text that is searched for: `length` decoded characters beginning at `from`, of which the first `keep` are not
 * removed. All parts of a secret share its characters.
 */
interface Target {
  codes: Uint16Array;
  from: number;
  length: number;
  keep: number;
  /** Where the target is searched for. */
  within: readonly Searched[];
}

const EVERYWHERE: readonly Searched[] = ['text', 'value', 'identifier'];

/**
 * Searches texts for secrets. The text is decoded once, and one hash rolls over it, so the time depends only on the
 * length of the text, not on the secrets. Source: Karp and Rabin, "Efficient randomized pattern-matching algorithms",
 * 1987.
 */
export function createSecretFinder() {
  const byHash = new Map<number, Target[]>();
  /** Most hashes of a text belong to no target. A bit shows that faster than a map. */
  const likely = new Uint8Array(65_536);

  function add(target: Target): void {
    const hash = hashOf(target.codes, target.from);
    const namesakes = byHash.get(hash) ?? [];
    // Whole secrets come before their parts, so that the first characters of a whole secret may stay.
    if (!namesakes.some((one) => isSame(one, target))) namesakes.push(target);
    byHash.set(
      hash,
      namesakes.sort((a, b) => b.length - a.length),
    );
    likely[hash & 0xffff] = 1;
  }

  function find(text: string, searched: Searched, shows = true): { start: number; end: number }[] {
    if (text.length < RUN) return [];
    const { codes, starts, ends, length } = decode(text);
    const found: { start: number; end: number }[] = [];
    const cover = (first: number, last: number): void => {
      const [start, end] = [starts[first] ?? 0, ends[last] ?? text.length];
      const before = found.at(-1);
      if (before === undefined || start > before.end) found.push({ start, end });
      else {
        // The range of a whole secret begins after the characters that may be shown. Another secret may begin before
        // this range.
        before.start = Math.min(before.start, Math.max(start, found.at(-2)?.end ?? 0));
        before.end = Math.max(before.end, end);
      }
    };
    let hash = length >= RUN ? hashOf(codes, 0) : 0;
    for (let at = 0; at + RUN <= length; at += 1) {
      if (likely[hash & 0xffff] === 1) {
        const target = byHash.get(hash)?.find((one) => one.within.includes(searched) && isAt(one, codes, at, length));
        if (target !== undefined) cover(at + (shows ? target.keep : 0), at + target.length - 1);
      }
      hash = roll(hash, codes[at] ?? 0, codes[at + RUN] ?? 0);
    }
    return found;
  }

  return {
    /**
     * Searches for one more secret of at least 6 characters. The cost does not depend on the number of secrets, because a
     * daemon gets a new one at each rotation of a key.
     */
    add(secret: FoundSecret): void {
      for (const target of targetsOf(secret)) if (target.length >= RUN) add(target);
    },
    /**
     * Finds the parts that have to be removed, in order and without overlap.
     *
     * @param shows false if the first characters of a whole secret may not be shown
     */
    find,
  };
}

function targetsOf(found: FoundSecret): Target[] {
  const { secret, shown, isApiKey } = found;
  // A secret may contain characters that look encoded. So the search finds both the written form and the decoded form
  // of a secret.
  const forms = [charactersOf(secret), decode(secret)].map(({ codes, length }) => codes.slice(0, length));
  return [
    ...forms.flatMap((codes) => [wholeOf(codes, shown, isApiKey), ...partsOf(codes, shown)]),
    ...base64Of(secret).map((encoded) => wholeOf(charactersOf(encoded).codes, 0, isApiKey)),
  ];
}

function wholeOf(codes: Uint16Array, shown: number, isApiKey: boolean): Target {
  const within: readonly Searched[] = isApiKey || codes.length >= LONG_RUN ? EVERYWHERE : ['text', 'value'];
  return { codes, from: 0, length: codes.length, keep: Math.min(shown, codes.length), within };
}

function partsOf(codes: Uint16Array, shown: number): Target[] {
  if (codes.length < PARTS_LENGTH_MIN) return [];
  const runs = placesFrom(shown, codes.length - RUN)
    .filter((from) => !isOrdinary(codes.subarray(from, from + RUN)))
    .map((from): Target => ({ codes, from, length: RUN, keep: 0, within: ['text'] }));
  const long = placesFrom(0, codes.length - LONG_RUN).map(
    (from): Target => ({
      codes,
      from,
      length: LONG_RUN,
      keep: Math.max(shown - from, 0),
      within: ['value', 'identifier'],
    }),
  );
  return [...runs, ...long];
}

function placesFrom(first: number, last: number): number[] {
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => first + at);
}

/**
 * The characters of a secret's base64 that only depend on the secret, for each position at which it can begin within an
 * encoded text.
 */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((skipped) => {
    const rest = bytes.subarray(skipped);
    const triples = rest.subarray(0, rest.length - (rest.length % 3));
    return [triples.toString('base64'), triples.toString('base64url')];
  });
}

/**
 * True for a part that reveals nothing, because it may be in any text: a word in small or capital letters, a repeated
 * character, or a sequence such as `123456`.
 */
function isOrdinary(codes: Uint16Array): boolean {
  const text = String.fromCharCode(...codes);
  if (/^(?:[A-Z]?[a-z]+|[A-Z]+)$/.test(text)) return true;
  const step = (codes[1] ?? 0) - (codes[0] ?? 0);
  return Math.abs(step) <= 1 && codes.every((code, index) => index === 0 || code - (codes[index - 1] ?? 0) === step);
}

function isAt(target: Target, codes: Uint16Array, at: number, length: number): boolean {
  if (at + target.length > length) return false;
  for (let index = 0; index < target.length; index += 1) {
    if (target.codes[target.from + index] !== codes[at + index]) return false;
  }
  return true;
}

function isSame(a: Target, b: Target): boolean {
  const areSearchedAlike = a.within.join() === b.within.join();
  return areSearchedAlike && a.length === b.length && isAt(a, b.codes, b.from, b.from + b.length);
}

const BASE = 0x01000193;
const BASE_TO_RUN = Array.from({ length: RUN }).reduce<number>((power) => Math.imul(power, BASE), 1);

function hashOf(codes: Uint16Array, from: number): number {
  let hash = 0;
  for (let index = from; index < from + RUN; index += 1) hash = mix(hash, codes[index] ?? 0);
  return hash;
}

function mix(hash: number, code: number): number {
  return (Math.imul(hash, BASE) + code) | 0;
}

function roll(hash: number, leaving: number, entering: number): number {
  return (mix(hash, entering) - Math.imul(leaving, BASE_TO_RUN)) | 0;
}

interface Decoded {
  codes: Uint16Array;
  /** Where each character begins and ends in the text. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** How many characters there are; the arrays may be longer. */
  length: number;
}

const [PERCENT, BACKSLASH, SMALL_U] = [0x25, 0x5c, 0x75];
/** The letters that mean white space after a backslash. */
const ESCAPED_SPACE = new Set(Array.from('nrtbf', (letter) => letter.charCodeAt(0)));

/** Decodes a text: removes white space, and converts `%2F`, `\u002f` and `\/` to `/`. */
function decode(text: string): Decoded {
  const codes = new Uint16Array(text.length);
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    let code = text.charCodeAt(at);
    const start = at;
    if (code <= 0x20 || code === 0xa0) continue;
    if (code === PERCENT) {
      const value = hexAt(text, at + 1, 2);
      if (value >= 0) {
        code = value;
        at += 2;
      }
    } else if (code === BACKSLASH && at + 1 < text.length) {
      const next = text.charCodeAt(at + 1);
      const value = next === SMALL_U ? hexAt(text, at + 2, 4) : -1;
      if (value < 0 && ESCAPED_SPACE.has(next)) {
        at += 1;
        continue;
      }
      at += value < 0 ? 1 : 5;
      code = value < 0 ? next : value;
    }
    if (code <= 0x20) continue;
    codes[length] = code;
    starts[length] = start;
    ends[length] = at + 1;
    length += 1;
  }
  return { codes, starts, ends, length };
}

/** The characters of a text without white space, not decoded. */
function charactersOf(text: string): Pick<Decoded, 'codes' | 'length'> {
  const plain = text.replace(/[\0-\x20\xa0]/g, '');
  return { codes: Uint16Array.from({ length: plain.length }, (_, at) => plain.charCodeAt(at)), length: plain.length };
}

/** The number that the hexadecimal digits at a position write; -1 if they are not hexadecimal digits. */
function hexAt(text: string, at: number, digits: number): number {
  let value = 0;
  for (let index = at; index < at + digits; index += 1) {
    const digit = '0123456789abcdef'.indexOf(text.charAt(index).toLowerCase() || ' ');
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}
