import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';
import { type Exchange, RECORDED_ORIGIN } from '../../sdk/rest/exchange.ts';
import { createPrivateNames, isPrivate, PRIVATE_TEXTS, type Privacy } from './private-members.ts';
import type { Replacements } from './replacements.ts';

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
