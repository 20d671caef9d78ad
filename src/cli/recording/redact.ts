import { createHmac, randomBytes } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';
import { endsOfName, isSecretName, isSecretParameter, wordsOfName } from '../../lib/text/secret-names.ts';
import { type Exchange, RECORDED_ORIGIN } from '../../sdk/rest/exchange.ts';

export interface RedactionTools {
  replacements: Replacements;
  /** Removes the secrets of the config from a text. */
  scrub: (text: string) => string;
  /** Members that are replaced besides the known ones. */
  members: readonly string[];
}

/** What was replaced, with the number of different values. */
export type Replaced = Map<string, Set<string>>;

/** Shorter values are not searched for in other texts, because they may be parts of ordinary words. */
const SEARCHED_LENGTH_MIN = 6;

/**
 * Replaces secrets, what is about people, and the address of the server in recorded exchanges. Requests and links have values of answers,
 * such as the last key of a page, so all values are found first.
 *
 * @param replaced gets what was replaced
 */
export function redactExchanges(
  exchanges: readonly Exchange[],
  { replacements, scrub, members }: RedactionTools,
  replaced: Replaced,
): Exchange[] {
  const names = createPrivateNames(members);
  const origins = [...new Set(exchanges.map(({ request }) => new URL(request.origin).host))];

  function replacementOf(text: string, what: string): string {
    if (text.startsWith(RECORDED_ORIGIN)) return text;
    const own = replacements.of(text);
    if (own !== text) {
      const values = replaced.get(what) ?? new Set();
      replaced.set(what, values.add(text));
    }
    return own;
  }

  function redactedText(text: string): string {
    const known = text.length < SEARCHED_LENGTH_MIN ? undefined : replacements.known(text);
    if (known !== undefined) return known;
    let result = scrub(text);
    for (const host of origins) {
      for (const scheme of ['https', 'http']) result = result.replaceAll(`${scheme}://${host}`, RECORDED_ORIGIN);
    }
    for (const { what, pattern } of PRIVATE_TEXTS) {
      result = result.replaceAll(pattern, (found) => replacementOf(found, what));
    }
    return /[?&=/]/.test(result) ? withinAddress(result) : result;
  }

  /** Replaces values in an address or a filter: those of private parameters, and those that were replaced elsewhere. */
  function withinAddress(text: string): string {
    let result = text.replaceAll(
      /([?&])([\w.$-]+)=([^&#\s"']*)/g,
      (whole, sign: string, name: string, value: string) => {
        const plain = decoded(value);
        if (!isPrivate(names.ofParameter(name), name, plain)) return whole;
        return `${sign}${name}=${encodeURIComponent(replacementOf(plain, name))}`;
      },
    );
    for (const [value, own] of replacements.all()) {
      if (value.length < SEARCHED_LENGTH_MIN || value === own) continue;
      result = result.replaceAll(value, own).replaceAll(encodeURIComponent(value), encodeURIComponent(own));
    }
    return result;
  }

  /** @param around the private member around the value, and its name */
  function redacted(value: JsonValue, around: { privacy: Privacy; name: string } | null): JsonValue {
    if (typeof value === 'string') {
      return around !== null && isPrivate(around.privacy, around.name, value)
        ? replacementOf(value, around.name)
        : redactedText(value);
    }
    if (typeof value === 'number') {
      const own = redactedNumber(String(value), around);
      return own === String(value) ? value : Number(own);
    }
    if (Array.isArray(value)) return value.map((one) => redacted(one, around));
    if (!isJsonObject(value)) return value;
    if (RAW.isRawJSON(value)) {
      const text = JSON.stringify(value);
      const own = redactedNumber(text, around);
      return own === text ? value : RAW.rawJSON(own);
    }
    const fields: JsonObject = {};
    for (const [name, member] of Object.entries(value)) {
      const privacy = names.ofMember(name);
      setMember(fields, name, redacted(member, around ?? (privacy === null ? null : { privacy, name })));
    }
    return fields;
  }

  /** The digits of a number, which stay a number. */
  function redactedNumber(digits: string, around: { privacy: Privacy; name: string } | null): string {
    if (around !== null && isPrivate(around.privacy, around.name, digits)) return replacementOf(digits, around.name);
    return scrub(digits) === digits ? digits : replacementOf(digits, 'secrets that are numbers');
  }

  /** Redacts JSON, lines of JSON, or another text. */
  function redactedBody(text: string): string {
    const whole = parsed(text);
    if (whole !== undefined) return JSON.stringify(redacted(whole, null));
    const lines = text.split('\n').map((line) => (line.trim() === '' ? line : parsed(line)));
    if (lines.some((line) => line === undefined)) return redactedText(text);
    return lines
      .map((line, at) =>
        typeof line === 'string' ? text.split('\n')[at] : JSON.stringify(redacted(line ?? null, null)),
      )
      .join('\n');
  }

  function redactedPath(path: string): string {
    const [before, search] = splitAt(path, '?');
    if (search === null) return redactedText(path);
    const pairs = search.split('&').map((pair) => {
      const [name, value] = splitAt(pair, '=');
      if (value === null) return pair;
      const plain = decoded(value);
      // A secret of digits alone would be read as a number.
      const bare = scrub(plain);
      if (bare !== plain) return `${name}=${encodeURIComponent(bare)}`;
      const own = isPrivate(names.ofParameter(name), name, plain) ? replacementOf(plain, name) : redactedBody(plain);
      return own === plain ? pair : `${name}=${encodeURIComponent(own)}`;
    });
    return `${redactedText(before)}?${pairs.join('&')}`;
  }

  const pass = (): Exchange[] =>
    exchanges.map(({ request, answer }) => ({
      request: {
        method: request.method,
        origin: RECORDED_ORIGIN,
        path: redactedPath(request.path),
        body: request.body === '' ? '' : redactedBody(request.body),
      },
      answer: {
        status: answer.status,
        headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, redactedText(value)])),
        body: redactedBody(answer.body),
      },
    }));
  pass();
  return pass();
}

/** The parts of a text before and after the first separator; null without one. */
function splitAt(text: string, separator: string): [before: string, after: string | null] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** A number as it is written, because an answer is recorded as the server gave it. */
interface RawJson {
  rawJSON: (text: string) => JsonValue;
  isRawJSON: (value: unknown) => boolean;
}
const RAW = JSON as unknown as RawJson;

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text, (_name, value: JsonValue, context?: { source?: string }) =>
      typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
        ? RAW.rawJSON(context.source)
        : value,
    ) as JsonValue;
  } catch {
    return undefined;
  }
}

// Which members of an answer and which parameters of a request are about people, or are secrets.

/** Words with which the names of such members end. Words of one name are joined: `first_name` and `firstName` are `firstname`. */
const PERSONAL = wordsIn(`
  email mail phone telephone tel mobile fax phonenumber mobilenumber faxnumber firstname lastname middlename fullname
  givenname familyname surname nickname maidenname contact contactname contactperson person personname salutation
  signature address addressline street streetname housenumber postcode postalcode zip zipcode birthday birthdate
  dateofbirth iban bic ssn passportnumber taxnumber user username login author createdby updatedby modifiedby
  changedby createdbyuser lastmodifiedby lastchangedby owner responsible employee salesperson purchaser customername
  lastchangedbyuser ernam aenam bearbeiter sachbearbeiter
  vorname nachname ansprechpartner telefon handy adresse anschrift strasse straße hausnummer plz geburtsdatum benutzer
`);
function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Words after which the word before them still says what the member is, such as `ownerName` and `phone_work`. */
const QUALIFIER = wordsIn('name info work home office private business mobile value text');

type Privacy = 'personal' | 'secret';

/** Recognises private members and parameters by their names, and by the names that a person adds. */
export function createPrivateNames(added: readonly string[]) {
  const own = new Set(added.map((name) => name.toLowerCase()));
  const known = new Map<string, Privacy | null>();
  const ofMember = (name: string): Privacy | null => {
    let privacy = known.get(name);
    if (privacy === undefined) {
      privacy = own.has(name.toLowerCase()) ? 'personal' : privacyOf(name);
      known.set(name, privacy);
    }
    return privacy;
  };
  return {
    ofMember,
    ofParameter: (name: string): Privacy | null => ofMember(name) ?? (isSecretParameter(name) ? 'secret' : null),
  };
}

function privacyOf(name: string): Privacy | null {
  const words = wordsOfName(name);
  for (;;) {
    if (isSecretName(words.join('_'))) return 'secret';
    if (endsOfName(words).some((end) => PERSONAL.has(end))) return 'personal';
    if (words.length < 2 || !QUALIFIER.has(words.at(-1) ?? '')) return null;
    words.pop();
  }
}

/** Shorter tokens are no secrets, such as the tokens of pages `0` and `2`. */
const TOKEN_LENGTH_MIN = 6;

/** True for a value that must not be in a recording, by the name of its member or parameter. */
function isPrivate(privacy: Privacy | null, name: string, value: string): boolean {
  if (privacy !== 'secret') return privacy === 'personal';
  return value.length >= TOKEN_LENGTH_MIN || !['token', 'tokens'].includes(wordsOfName(name).at(-1) ?? '');
}

/** Texts that look like addresses of people or like secrets, wherever they stand. */
const PRIVATE_TEXTS: readonly { what: string; pattern: RegExp }[] = [
  { what: 'addresses of e-mail in texts', pattern: /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu },
  { what: 'tokens in texts', pattern: /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g },
  {
    what: 'tokens in texts',
    pattern: /\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abps]|shpat|shpss|AKIA|dpp)[_-]?[A-Za-z0-9_-]{12,}/g,
  },
  { what: 'tokens in texts', pattern: /(?<=\b(?:Bearer|Basic) )[A-Za-z0-9+/._~-]{8,}=*/g },
  {
    what: 'tokens in texts',
    pattern: /(?<![\w-])(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{40,}(?![\w-])/g,
  },
];

/**
 * Replaces texts so that their form and their equality stay: a letter becomes a letter of the same case, a digit a digit, and all else
 * stays. The same text always gets the same replacement, and different texts get different ones, so keys and joins still fit. The
 * replacements follow from a random key that is not kept, so nobody can find the texts by trying.
 */
export function createReplacements() {
  const key = randomBytes(32);
  const made = new Map<string, string>();
  const taken = new Set<string>();

  function replaced(text: string, attempt: number): string {
    let bytes = createHmac('sha256', key).update(`${attempt}\n${text}`).digest();
    let at = 0;
    const next = (): number => {
      if (at === bytes.length) {
        bytes = createHmac('sha256', key).update(bytes).digest();
        at = 0;
      }
      at += 1;
      return bytes[at - 1] ?? 0;
    };
    return Array.from(text, (character, index) => replacedCharacter(character, next(), index === 0)).join('');
  }

  return {
    /** The replacement of a text. One without letters and digits stays as it is. */
    of(text: string): string {
      const known = made.get(text);
      if (known !== undefined) return known;
      let own = text;
      if (/[\p{L}\p{N}]/u.test(text)) {
        own = replaced(text, 0);
        // Short texts have few replacements.
        for (let attempt = 1; taken.has(own) || own === text; attempt += 1) {
          own = attempt < ATTEMPTS_MAX ? replaced(text, attempt) : `${replaced(text, 0)}${attempt}`;
        }
      }
      made.set(text, own);
      taken.add(own);
      return own;
    },
    /** The replacement of a text that was replaced before; undefined if it was not. */
    known: (text: string): string | undefined => made.get(text),
    /** All texts that were replaced, with their replacements. */
    all: (): ReadonlyMap<string, string> => made,
  };
}

type Replacements = ReturnType<typeof createReplacements>;

const ATTEMPTS_MAX = 100;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

function replacedCharacter(character: string, byte: number, isFirst: boolean): string {
  if (/\p{Lu}/u.test(character)) return (LETTERS[byte % 26] ?? '').toUpperCase();
  if (/\p{L}/u.test(character)) return LETTERS[byte % 26] ?? '';
  // A number begins with a digit other than 0.
  if (/\p{N}/u.test(character)) return String(isFirst && character !== '0' ? 1 + (byte % 9) : byte % 10);
  return character;
}
