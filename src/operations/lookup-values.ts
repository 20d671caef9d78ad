// The values of lookup tables that people have added.

import { z } from 'zod';
import { LookupValue } from './documents.ts';
import { defineOperation } from './operation.ts';
import type { LookContext } from './runtime.ts';

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
