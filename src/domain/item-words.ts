import type { z } from 'zod';

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Describes the problem of an item's value if the schema has no message for it. Ends without a full stop. */
export function wordsOfProblem(problem: z.core.$ZodRawIssue): string | undefined {
  switch (problem.code) {
    case 'invalid_type':
      return `found ${kindOf(problem.input)}, expected ${TYPES[problem.expected] ?? problem.expected}`;
    case 'invalid_union':
      return `found ${kindOf(problem.input)}, expected a number or text`;
    case 'too_big': {
      const [have, what] = problem.origin === 'array' ? ['list', 'entries'] : ['text', 'characters'];
      const { length } = problem.input as { length: number };
      return `the ${have} has ${length} ${what}, expected at most ${problem.maximum}`;
    }
    case 'unrecognized_keys':
      return `${problem.keys.map((key) => JSON.stringify(key)).join(', ')} is not a member of the object`;
    case 'invalid_value':
      return `expected ${problem.values.length === 1 ? '' : 'one of '}${problem.values.map(String).join(', ')}`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
    case 'too_small':
      return undefined;
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'boolean' ? String(value) : (TYPES[typeof value] ?? typeof value);
}
