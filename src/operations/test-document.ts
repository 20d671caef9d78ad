import { z } from 'zod';
import { ITEM_KINDS } from '../domain/item.ts';
import { Json } from '../lib/json-schema.ts';
import { Count } from './documents.ts';

const Difference = z.strictObject({
  path: z.string().describe('The place in `expect` of the case, such as `items[0].fields.sku`.'),
  line: z.number().int().nullable(),
  item: z
    .strictObject({ kind: z.enum(ITEM_KINDS), key: z.string() })
    .nullable()
    .describe('The item of the place; null if it belongs to none.'),
  expected: Json.optional().describe('Absent if the case has nothing at the place.'),
  got: Json.optional().describe('Absent if the row gives nothing at the place.'),
});

const TestedCase = z.strictObject({
  file: z.string(),
  line: z.number().int().nullable(),
  name: z.string(),
  source: z.string(),
  stream: z.string(),
  result: z.enum(['passed', 'failed']),
  differences: z.array(Difference).describe('What the row has become in place of what the case expects.'),
  hints: z.array(z.string()).describe('What helps to understand a failure.'),
});
export type TestedCase = z.infer<typeof TestedCase>;

/** The results of cases of the mappings. */
export const Tested = z.strictObject({
  cases: z.array(TestedCase),
  passed: Count,
  failed: Count,
  untested: z.array(z.string()).describe('The streams whose mappings no case tests, as `source/stream`.'),
  notLoaded: z
    .array(z.string())
    .optional()
    .describe(
      'The sources for which the daemon still uses former mappings: it has not loaded the files yet, or has refused them.',
    ),
});
export type Tested = z.infer<typeof Tested>;
