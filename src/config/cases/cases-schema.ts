import { z } from 'zod';
import { ITEM_KINDS } from '../../domain/item.ts';
import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { Slug, StreamName } from '../fields.ts';

/** A value of the file. YAML gives only values that JSON has too. */
const Value = z.custom<JsonValue>((value) => value !== undefined, 'a value');
const Row = z.record(z.string(), Value).transform((row) => row as JsonObject);

/** A key is text. A number in the file stands for the text with its digits. */
const Key = z
  .union([z.string(), z.number()])
  .transform((key) => (typeof key === 'string' ? key : (normalizeDecimal(String(key)) ?? String(key))));

const Given = z
  .strictObject({
    source: Slug.optional().describe(
      'The id of the source. It is needed only if several sources have a stream of this name.',
    ),
    stream: StreamName.default('default').describe('The stream to which the row belongs.'),
    row: Row.describe(
      'The row as the connector gives it: the values by column. Connectors for CSV, XLSX, XML and other text give texts, so their numbers stand in quotes.',
    ),
    lookups: z
      .record(StreamName, z.array(Row))
      .default({})
      .describe(
        'The rows of lookup tables over streams, by the name of the table. A table that is not named is empty. Tables over files are read from their files.',
      ),
  })
  .describe('The row that is mapped.');

const Item = z
  .strictObject({
    kind: z.enum(ITEM_KINDS).describe('What the row becomes.'),
    key: Key.describe('The key of the item.'),
    fields: z
      .record(z.string(), Value)
      .transform((fields) => fields as JsonObject)
      .optional()
      .describe('All fields of the item. Without this key, the fields are not compared.'),
    refs: z
      .strictObject({
        product: Key.optional().describe('The key of the product that the BOM item belongs to.'),
        material: Key.optional().describe('The key of the material.'),
        component: Key.optional().describe('The key of the product that is the component.'),
        part: Key.optional().describe('The key of the part, if the mapping gives it as `part`.'),
      })
      .transform(({ product, material, component, part }) => ({
        ...(product === undefined ? {} : { product }),
        ...(material === undefined ? {} : { material }),
        ...(component === undefined ? {} : { component }),
        ...(part === undefined ? {} : { part }),
      }))
      .optional()
      .describe('All refs of a BOM item, as in the mapping. Without this key, the refs are not compared.'),
  })
  .describe('An item that the row makes.');

const Issue = z
  .strictObject({
    code: z
      .string()
      .min(1, 'the code of an issue, such as country.unknown')
      .describe('The code, such as `country.unknown`.'),
    field: z
      .string()
      .optional()
      .describe('The field of the item, or the column. Without this key, it is not compared.'),
    value: Value.optional().describe('The value at fault. Without this key, it is not compared.'),
  })
  .describe('An issue that the row has.');

const Expect = z
  .strictObject({
    items: z
      .array(Item)
      .min(1, 'at least one item, or `excluded: true` for a row that makes none')
      .optional()
      .describe('All items that the row makes, in any order.'),
    issue: z
      .union([Issue.transform((issue) => [issue]), z.array(Issue).min(1, 'at least one issue')])
      .meta({ title: 'issue or list of issues' })
      .optional()
      .describe('The issue that the row has, or the list of all its issues.'),
    excluded: z.literal(true, 'true, or no such key').optional().describe('`true` if no mapping takes the row.'),
  })
  .describe('What the row becomes: `items`, `issue`, or `excluded`.');

const Case = z
  .strictObject({
    name: z
      .string()
      .refine((name) => name.trim() !== '', 'a name that is not empty')
      .describe('What the case is about. Each case of a file has its own name.'),
    given: Given,
    expect: Expect,
  })
  .describe('A row, and what it becomes.');

/** A file of cases. Types, checks and JSON Schema are taken from this tree. */
export const CasesFile = z.strictObject({
  cases: z
    .array(Case, 'a list of cases')
    .min(1, 'at least one case')
    .describe('The cases, which `dpp-sync test` runs in this order.'),
});
export type CasesFile = z.infer<typeof CasesFile>;
