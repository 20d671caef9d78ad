import { z } from 'zod';
import { type ApiOperation, defineOperation } from './operation.ts';
import { LookupValue } from './schemas.ts';

const Nothing = z.strictObject({});
const Done = z.strictObject({ done: z.boolean() });
const Affected = z.strictObject({
  records: z.number().int().describe('The records that use the value and are mapped again.'),
});
const Name = z.strictObject({
  lookup: z.string().describe('The name of the lookup table.'),
  key: z.string().describe('The key, percent-encoded.'),
});

/** The operations for notes, values of lookup tables, and the audit log. */
export const PEOPLE_OPERATIONS: readonly ApiOperation[] = [
  defineOperation({
    method: 'PUT',
    path: '/causes/:id/note',
    id: 'noteCause',
    summary: 'Replaces the note and the owner of a cause. Empty texts remove them.',
    tag: 'attention',
    role: 'editor',
    action: 'cause.note',
    params: z.strictObject({ id: z.string() }),
    query: Nothing,
    body: z.strictObject({ text: z.string().max(2000), owner: z.string().max(100) }),
    answer: { status: 200, schema: Done },
    async handle({ params: { id }, body, person }, { people }) {
      await people.noteCause(id, { ...body, by: person.name });
      return { value: { done: true } };
    },
  }),
  defineOperation({
    method: 'PUT',
    path: '/lookup-values/:lookup/:key',
    id: 'setLookupValue',
    summary:
      'Adds or changes a value of a lookup table. The next run or replay maps the records that use the value again.',
    tag: 'attention',
    role: 'editor',
    action: 'lookup.set',
    params: Name,
    query: Nothing,
    body: LookupValue.pick({ value: true }),
    answer: { status: 200, schema: Affected },
    async handle({ params, body, person }, { people }) {
      return { value: await people.setLookupValue({ ...params, value: body.value, by: person.name }) };
    },
  }),
  defineOperation({
    method: 'DELETE',
    path: '/lookup-values/:lookup/:key',
    id: 'removeLookupValue',
    summary: 'Removes a value that a person has added to a lookup table.',
    tag: 'attention',
    role: 'editor',
    action: 'lookup.remove',
    params: Name,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: Affected },
    async handle({ params: { lookup, key } }, { people }) {
      return { value: await people.removeLookupValue(lookup, key) };
    },
  }),
];
