import type { z } from 'zod';

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
export function expectationOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
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

/** The forms that a value of a union may have; the error map has already made the inner messages. */
function unionExpectation(issue: z.core.$ZodRawIssue & { code: 'invalid_union' }): string {
  if (Array.isArray(issue.options)) return `one of ${issue.options.map(String).join(', ')}`;
  const forms = (issue.errors ?? []).flatMap((form) => {
    const [only, ...more] = form;
    return only && more.length === 0 && only.path.length === 0 ? [only.message] : [];
  });
  return [...new Set(forms)].join(' or ') || 'another value';
}
