import type { z } from 'zod';

/** One answer names at most this many problems. */
const PROBLEMS_MAX = 10;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Parses a body of the control endpoint. @throws ZodError with messages for people */
export function parseControl<T>(schema: z.ZodType<T>, body: unknown): T {
  return schema.parse(body, { error: wordsOf });
}

/** The problems of a body in one line, each after its place. */
export function problemsOf({ issues }: z.ZodError): string {
  const shown = issues.slice(0, PROBLEMS_MAX).map(({ path, message }) => `${placeOf(path)}: ${message}`);
  const more = issues.length - shown.length;
  return `${shown.join(' ')}${more > 0 ? ` And ${more} more.` : ''}`;
}

function placeOf(path: PropertyKey[]): string {
  if (path.length === 0) return 'The body';
  return path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** Makes the message of an issue. With undefined the issue keeps its own message. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && issue.code !== 'custom') return 'This field is required.';
  switch (issue.code) {
    case 'invalid_type':
      return `Expected ${TYPES[issue.expected] ?? issue.expected}.`;
    case 'invalid_value':
      return `Expected one of ${issue.values.map(String).join(', ')}.`;
    case 'invalid_union':
      return Array.isArray(issue['options']) ? `Expected one of ${issue['options'].join(', ')}.` : undefined;
    case 'unrecognized_keys':
      return `Unknown: ${issue.keys.slice(0, PROBLEMS_MAX).join(', ').slice(0, 200)}.`;
    case 'too_small':
      return `Expected ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}.`;
    case 'too_big':
      return `Expected ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}.`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
      return undefined;
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' elements' : '';
}
