import { isJsonObject } from '../../lib/json.ts';
import { SECRET_LENGTH_MIN, type SecretStore } from '../../lib/logging/secrets.ts';
import { suggest } from '../../lib/text/suggest.ts';
import type { ConfigDocument } from '../document.ts';
import { type ConfigProblem, formatPath, type PathSegment } from '../problem.ts';
import { valueAt } from '../schema/schema-walk.ts';

const SHOWN_LENGTH_MAX = 60;
const TOO_SHORT = `found a secret of fewer than ${SECRET_LENGTH_MIN} characters, which is too short to be removed from logs and messages, expected a longer secret`;
/** Shorter values are not hidden, because they occur in many words and cannot be secrets. */
const HIDDEN_LENGTH_MIN = 4;
const CANDIDATES_MAX = 12;

/**
 * Collects the problems of one config. Every text about a value passes through here, so that no secret is shown (I7).
 */
export function createFindings(options: {
  document: ConfigDocument;
  /** The values after interpolation. */
  value: unknown;
  /** The original texts of values that had a placeholder, by the JSON of their path. */
  templates: ReadonlyMap<string, string>;
  secrets: SecretStore;
}) {
  const { document, value, templates, secrets } = options;
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const secretPaths: string[] = [];
  const problemPaths = new Set<string>();
  const unresolved = new Set(templates.values());

  /** A person may write a key at a wrong place of the config, so a text about a value shows nothing that looks like a key. */
  const clean = (text: string): string =>
    secrets.scrub(text).replace(/(?<![\w/.-])dpp_[\w-]{12,}/g, (key) => `${key.slice(0, 8)}…`);

  const isSecret = (path: readonly PathSegment[]): boolean => {
    const text = pathId(path);
    return secretPaths.some((secret) => text.startsWith(secret));
  };

  const found = (path: readonly PathSegment[]): string => {
    const at = valueAt(value, path);
    if (at === undefined || at === null) return 'nothing';
    if (at === '') return 'empty text';
    if (Array.isArray(at)) return at.length === 0 ? 'an empty list' : 'a list';
    if (typeof at === 'object') return 'named values';
    if (isSecret(path)) return 'a value that is not shown';
    const template = templates.get(JSON.stringify(path));
    return template === undefined ? shown(at) : `${shown(template)} (its value is not shown)`;
  };

  const add = (to: ConfigProblem[], path: readonly PathSegment[], message: string, cure: string | undefined): void => {
    const place = { path: secrets.scrubValue(formatPath(path)), line: document.lineOf(path) };
    if (to === problems) problemPaths.add(pathId(path));
    to.push({
      ...place,
      message: clean(withoutValue(path, message)),
      ...(cure === undefined ? {} : { cure: clean(cure) }),
    });
  };

  /**
   * A message of a connector's schema may quote the value. A value from a placeholder may be a secret of any length.
   */
  const withoutValue = (path: readonly PathSegment[], message: string): string => {
    const at = valueAt(value, path);
    const template = templates.get(JSON.stringify(path));
    const isGiven = template !== undefined && typeof at === 'string' && at !== template;
    return isGiven && at.length >= HIDDEN_LENGTH_MIN ? message.replaceAll(at, '…') : message;
  };

  const has = (path: readonly PathSegment[]): boolean => problemPaths.has(pathId(path));

  return {
    problems,
    warnings,
    /**
     * Marks a value as secret: from now on nothing below the path is shown, and the value is removed from every log line.
     */
    addSecret(path: readonly PathSegment[]): void {
      secretPaths.push(pathId(path));
      for (const text of textsIn(valueAt(value, path))) {
        // A placeholder that could not be replaced names a file or a variable, and the message must name it too.
        if (unresolved.has(text)) continue;
        secrets.add(text);
        if (text.length > 0 && text.length < SECRET_LENGTH_MIN) add(warnings, path, TOO_SHORT, undefined);
      }
    },
    /**
     * Reports `found X, expected Y` at a path. Only the first problem of a path is reported, because a second one would
     * follow from it.
     */
    addMismatch(path: readonly PathSegment[], expected: string, cure?: string): void {
      if (!has(path)) add(problems, path, `found ${found(path)}, expected ${expected}`, cure);
    },
    /** Reports an unknown key. */
    addUnknownKey(path: readonly PathSegment[], known: readonly string[], cure?: string): void {
      if (has(path)) return;
      const likely = suggest(String(path.at(-1) ?? ''), known);
      const expected = known.length === 0 ? 'none' : oneOf(known);
      add(problems, path, `found an unknown key, expected ${expected}`, cure ?? didYouMean(likely));
    },
    /** Reports a name that does not exist. */
    addUnknownName(path: readonly PathSegment[], what: string, known: readonly string[]): void {
      if (has(path)) return;
      const name = valueAt(value, path);
      const likely = typeof name === 'string' ? suggest(name, known) : undefined;
      const expected = known.length === 0 ? `${what}, but there is none` : `${what}: ${oneOf(known)}`;
      add(problems, path, `found ${found(path)}, expected ${expected}`, didYouMean(likely));
    },
    addProblem(path: readonly PathSegment[], message: string, cure?: string): void {
      add(problems, path, message, cure);
    },
    addWarning(path: readonly PathSegment[], message: string, cure?: string): void {
      add(warnings, path, message, cure);
    },
    /** True if there is a problem at exactly this path. */
    has,
  };
}

export type Findings = ReturnType<typeof createFindings>;

export function didYouMean(likely: string | undefined): string | undefined {
  return likely === undefined ? undefined : `Did you mean ${likely}?`;
}

function oneOf(names: readonly string[]): string {
  if (names.length === 1) return String(names[0]);
  const listed = names.slice(0, CANDIDATES_MAX).join(', ');
  return `one of ${listed}${names.length > CANDIDATES_MAX ? ' and others' : ''}`;
}

/**
 * A text for a path. The text of a path is a part of the text of another path exactly if the first path is the
 * beginning of the other.
 */
function pathId(path: readonly PathSegment[]): string {
  return path.map((segment) => `${JSON.stringify(segment)},`).join('');
}

/** The form of a value in messages: short, on one line, and without possible credentials in a URL. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return String(value);
  const url = value.replace(/(:\/\/).*@/s, '$1…@').replace(/^([a-z][a-z0-9+.-]*:\/\/[^?#]*)[?#].+$/i, '$1?…');
  return JSON.stringify(url.length > SHOWN_LENGTH_MAX ? `${url.slice(0, SHOWN_LENGTH_MAX)}…` : url);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** A problem that was found when a mapping was compiled. */
export interface MappingFlaw {
  /** The place in the mapping, such as `sources[0].mappings[1].fields.quantity`. */
  path: string;
  message: string;
  /** What to do about the flaw, as a full sentence. */
  cure?: string;
}

/**
 * Adds the flaws to the config's other problems. If the config's own rules have already reported a problem at a place,
 * a flaw there is left out.
 */
export function addFlaws(flaws: readonly MappingFlaw[], findings: Findings): void {
  const placed = flaws.map((flaw) => ({ ...flaw, path: segmentsOf(flaw.path) }));
  const isReported = (path: readonly PathSegment[]) => findings.has(path) || findings.has(path.slice(0, MEMBER_DEPTH));
  for (const { path, message, cure } of placed.filter((flaw) => !isReported(flaw.path))) {
    findings.addProblem(path, message, cure);
  }
}

/** The number of segments in the path of a member of a mapping: `sources`, 0, `mappings`, 1, `refs`. */
const MEMBER_DEPTH = 5;

/** The segments of a path within a source or a mapping. The name of a field or unit is the last segment, and may contain any character. */
export function segmentsOf(path: string): PathSegment[] {
  const match = /^sources\[(\d+)\](?:\.mappings\[(\d+)\])?(?:\.(\w+)(?:\.(.+))?)?$/s.exec(path);
  if (!match) return [];
  const [, source, mapping, ...within] = match;
  const ofMapping = mapping === undefined ? [] : ['mappings', Number(mapping)];
  return ['sources', Number(source), ...ofMapping, ...within.filter((segment) => segment !== undefined)];
}
