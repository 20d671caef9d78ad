// Corrections by people: the values of rows, and values that lookup tables lack.

import { z } from 'zod';
import { withoutAbsent } from '../lib/collections.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { CorrectionResult } from '../pipeline/store-page.ts';
import { Time, worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import { goOn } from './runs.ts';
import type { LookContext } from './runtime.ts';

/** A value of a lookup table that a person has added. */
const LookupValue = z.strictObject({
  lookup: z.string(),
  key: z.string(),
  value: z.string(),
  by: z.string(),
  at: Time,
});

const Affected = z.strictObject({
  records: z.number().int().describe('The records that use the value and are mapped again.'),
});
const name = {
  lookup: z.string().describe('The name of the lookup table.'),
  key: z.string().describe('The key, percent-encoded.'),
};

export const listLookupValues = defineOperation({
  name: 'list-lookup-values',
  kind: 'look',
  tag: 'attention',
  role: 'viewer',
  summary: 'Lists the values of lookup tables that people have added.',
  at: 'GET /lookup-values',
  request: z.strictObject({}),
  result: z.array(LookupValue),
  run: (_, { runtime: { reads } }: LookContext) => reads.lookupValues(),
});

export const setLookupValue = defineOperation({
  name: 'set-lookup-value',
  kind: 'act',
  tag: 'attention',
  role: 'editor',
  summary:
    'Adds or changes a value of a lookup table. The next run or replay maps the records that use the value again.',
  at: 'PUT /lookup-values/:lookup/:key',
  action: 'lookup.set',
  request: z.strictObject({ ...name, value: z.string() }),
  result: Affected,
  run: (value, { runtime, who }) => runtime.ledger.setLookupValue({ ...value, by: who }),
});

export const removeLookupValue = defineOperation({
  name: 'remove-lookup-value',
  kind: 'act',
  tag: 'attention',
  role: 'editor',
  summary: 'Removes a value that a person has added to a lookup table.',
  at: 'DELETE /lookup-values/:lookup/:key',
  action: 'lookup.remove',
  request: z.strictObject(name),
  result: Affected,
  run: ({ lookup, key }, { runtime }) => runtime.ledger.removeLookupValue(lookup, key),
});

/** The values by column. A record of zod would drop a column with the name `__proto__`. */
const Fields = z.custom<JsonObject>(isJsonObject, 'an object').meta({ type: 'object', additionalProperties: {} });

export const CorrectRowsRequest = z.strictObject({
  source: z.string(),
  stream: z.string(),
  rows: z
    .array(
      z.strictObject({
        fields: Fields,
        place: z.strictObject({ file: z.string(), line: z.int(), path: z.string() }).partial(),
        version: z.int(),
      }),
    )
    .min(1),
});
export type CorrectRowsRequest = z.infer<typeof CorrectRowsRequest>;

/** Stores rows that a person has corrected, as a run of their source; nothing is concluded about other rows. */
export const correctRows: Operation<CorrectRowsRequest, CorrectionResult> = {
  name: 'correct-rows',
  kind: 'work',
  tag: 'attention',
  role: 'editor',
  summary:
    'Stores corrected rows of a stream. The next export of the stream can replace them. An editor names the cause that the rows belong to; an operator may correct every row.',
  request: CorrectRowsRequest,
  result: worked(),
  // The rows may have columns that are never stored, so the audit log has only their number.
  detail: ({ source, stream, rows }) => ({ source, stream, rows: rows.length }),
  async run({ source, stream, rows }, { runtime, abort, who }) {
    const placed = rows.map((row) => ({ ...row, place: withoutAbsent(row.place) }));
    const result = await runtime.correct({ source, stream, rows: placed, askedBy: who }, abort);
    goOn(runtime);
    return result;
  },
};
