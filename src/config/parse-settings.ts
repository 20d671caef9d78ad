import { z } from 'zod';
import { isJsonObject } from '../lib/json.ts';
import { suggest } from '../lib/text/suggest.ts';
import { didYouMean, type Findings } from './checks/findings.ts';
import type { PathSegment } from './problem.ts';
import { keysAt, secretPathsIn, valueAt } from './schema/schema-walk.ts';

export interface SettingsContext {
  /** The path of the value in the config. */
  path: readonly PathSegment[];
  findings: Findings;
  /** True for a text from a placeholder. The setting then decides the type of the text. */
  isExpanded(path: readonly PathSegment[]): boolean;
  /** Keys that are allowed at the top beside the schema's, for suggestions. */
  alsoKnown?: readonly string[];
  /** Advice about an unknown key at the top level, if a similar name is not enough. */
  cureUnknown?(key: string): string | undefined;
}

/**
 * Parses a part of the config with a schema and adds its problems to the findings. Secrets that the schema marks are
 * registered before any value is reported (I7).
 *
 * @returns undefined when there was a problem
 */
export function parseSettings<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  context: SettingsContext,
): z.infer<Schema> | undefined {
  for (const path of secretPathsIn(schema, value)) context.findings.addSecret([...context.path, ...path]);
  // Each schema is used once. Compiling a parser for it takes longer than parsing without one.
  const parse = (input: unknown) => schema.safeParse(input, { error: expectationOf, jitless: true });
  const first = parse(value);
  if (first.success) return first.data;
  const result = typeExpanded(value, first.error.issues, context) ? parse(value) : first;
  if (result.success) return result.data;
  for (const issue of result.error.issues) report(issue, [], value, schema, context);
  return undefined;
}

/**
 * Converts texts from placeholders: `port: ${PORT}` gives a text, but if a number or boolean was expected and the text
 * is one, it is converted.
 */
function typeExpanded(value: unknown, issues: readonly z.core.$ZodIssue[], context: SettingsContext): boolean {
  let changed = false;
  for (const issue of issues) {
    const path = issue.path.map(segmentOf);
    if (issue.code !== 'invalid_type' || !context.isExpanded([...context.path, ...path])) continue;
    const typed = typedText(valueAt(value, path), issue.expected);
    const holder = valueAt(value, path.slice(0, -1));
    const last = path.at(-1);
    if (typed === undefined || last === undefined || typeof holder !== 'object' || holder === null) continue;
    Object.defineProperty(holder, last, { value: typed, enumerable: true, configurable: true, writable: true });
    changed = true;
  }
  return changed;
}

function typedText(text: unknown, type: string): number | boolean | undefined {
  if (typeof text !== 'string') return undefined;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if (type !== 'number' && type !== 'int') return undefined;
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
}

function report(
  issue: z.core.$ZodIssue,
  above: readonly PathSegment[],
  value: unknown,
  schema: z.ZodType,
  context: SettingsContext,
): void {
  const { findings } = context;
  const local = [...above, ...issue.path.map(segmentOf)];
  const path = [...context.path, ...local];
  // The placeholder without a value was already reported, so the missing value is not reported again.
  if (findings.has(path)) return;
  if (issue.code === 'unrecognized_keys') {
    const known = [...keysAt(schema, local, value), ...(local.length === 0 ? (context.alsoKnown ?? []) : [])];
    for (const key of issue.keys) {
      findings.addUnknownKey([...path, key], known, local.length === 0 ? context.cureUnknown?.(key) : undefined);
    }
    return;
  }
  if (issue.code === 'invalid_union') {
    const nested = likeliestForm(issue);
    if (nested !== null) {
      for (const inner of nested) report(inner, local, value, schema, context);
      return;
    }
  }
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  if (message.endsWith('.')) findings.addProblem(path, message);
  else if (issue.code === 'invalid_key') findings.addProblem(path, `found this name, expected ${message}`);
  else findings.addMismatch(path, message.replace(/^expected /, ''), cureOf(issue, valueAt(value, local)));
}

/** The form of a union whose problems are deepest, because it is probably the intended one; null if there is none. */
function likeliestForm(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | null {
  const within = (issue.errors ?? []).filter((form) => form.every((inner) => inner.path.length > 0));
  const depth = (form: z.core.$ZodIssue[]): number => Math.max(...form.map((inner) => inner.path.length));
  return within.sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? null;
}

function cureOf(issue: z.core.$ZodIssue, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (issue.code === 'invalid_value') return didYouMean(suggest(value, issue.values.map(String)));
  if (issue.code === 'custom' && isJsonObject(issue.params) && issue.params['timeZone'] === true) {
    return didYouMean(suggest(value, Intl.supportedValuesOf('timeZone')));
  }
  return undefined;
}

function segmentOf(segment: PropertyKey): PathSegment {
  return typeof segment === 'symbol' ? String(segment) : segment;
}

const TYPES: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'named values',
  record: 'named values',
  null: 'nothing (null)',
};

/**
 * The value that zod expected, as the end of `expected …`. Every parse of a config uses it as the error map, for issues
 * whose schema has no message of its own.
 */
function expectationOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `${TYPES[issue.expected] ?? issue.expected}${kindsOf(issue.inst)}`;
    case 'too_small': {
      const { minimum, inclusive = true } = issue;
      if (issue.origin === 'string')
        return Number(minimum) <= 1 ? 'text that is not empty' : `at least ${minimum} characters`;
      if (issue.origin === 'array') return `at least ${minimum === 1 ? 'one entry' : `${minimum} entries`}`;
      return inclusive ? `a number of at least ${minimum}` : `a number above ${minimum}`;
    }
    case 'too_big': {
      const { maximum, inclusive = true } = issue;
      if (issue.origin === 'string') return `at most ${maximum} characters`;
      if (issue.origin === 'array') return `at most ${maximum === 1 ? 'one entry' : `${maximum} entries`}`;
      return inclusive ? `a number of at most ${maximum}` : `a number below ${maximum}`;
    }
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return issue.format === 'regex' ? `text that matches ${issue.pattern}` : `a value of the form "${issue.format}"`;
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return unionExpectation(issue);
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
    case 'custom':
      return undefined;
  }
}

/** The kinds of named values that one member of them distinguishes, as the end of a sentence; empty if there are none. */
function kindsOf(schema: z.core.$ZodRawIssue['inst']): string {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return '';
  const { discriminator } = schema.def;
  const kinds = [...(schema._zod.propValues[discriminator] ?? [])];
  return ` whose ${discriminator} is one of ${kinds.map(String).join(', ')}`;
}

/** The forms that a value of a union may have; the error map has already made the inner messages. */
function unionExpectation(issue: z.core.$ZodRawIssue & { code: 'invalid_union' }): string {
  if (Array.isArray(issue.options)) return `one of ${issue.options.map(String).join(', ')}`;
  const forms = (issue.errors ?? []).flatMap((form) => {
    const [only, ...more] = form;
    return only && more.length === 0 && only.path.length === 0 ? [only.message] : [];
  });
  return [...new Set(forms)].join(' or ') || 'another value';
}
