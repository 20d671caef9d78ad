import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCleanText } from '../../../src/api/answers/answer-text.ts';
import { createClassifier, type Expectation } from '../../../src/api/answers/classify.ts';
import { createWordReader } from '../../../src/api/answers/import-words.ts';
import type { MemberOutcome } from '../../../src/domain/delivery/outcome.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

const classify = createClassifier({ clean: createCleanText(createSecretStore()), now: () => 0, unprocessed: [] });

/** The products of the import, in their order. */
const SENT = ['A', 'B', 'C'].map((sku) => ({ sku, name: `Name ${sku}`, status: 'LIVE' }));
const WORDS = createWordReader(Profile.parse({}).imports.words);

function expectation(keys: (string | null)[], uniqueFields: string[] = []): Expectation {
  const members = {
    keys,
    keyNames: ['sku'],
    uniqueFields,
    idPaths: ['id'],
    resultsAt: ['results', 'data', 'items', 'products', 'rows'],
    words: WORDS,
    sent: () => SENT,
    nameField: 'name',
  };
  return { needsId: false, idPaths: [], uniqueFields: [], members };
}

const KEYS = ['A', 'B', 'C'];

function outcomeOf(status: number, body: unknown, keys: (string | null)[] = KEYS) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const outcome = classify.outcomeOf({ kind: 'answer', status, headers: {}, body: text, cut: null }, expectation(keys));
  if (outcome.kind !== 'accepted' && outcome.kind !== 'refused') throw new Error(outcome.kind);
  return outcome;
}

const membersOf = (status: number, body: unknown) => outcomeOf(status, body).members;

/** The result of each member, in short: `created:7`, `updated`, `stored`, `refused(words)`, `untouched`, `?`. */
function read(status: number, body: unknown, keys: (string | null)[] = KEYS): string[] | null {
  return outcomeOf(status, body, keys).members?.map(short) ?? null;
}

function short(member: MemberOutcome): string {
  switch (member.kind) {
    case 'accepted':
      return (member.effect ?? 'stored') + (member.remoteId === null ? '' : `:${JSON.stringify(member.remoteId)}`);
    case 'refused':
      return `refused(${member.detail.message})`;
    case 'untouched':
      return 'untouched';
    case 'unknown':
      return '?';
  }
}

describe('an answer to an import that is not clear', () => {
  it.each<[string, object, string]>([
    ['a word that no list has', { id: 1, status: 'exists' }, 'It says "exists" about the product.'],
    ['another such word', { id: 1, result: 'merged' }, 'It says "merged" about the product.'],
    ['a word for work that goes on', { id: 1, status: 'queued' }, 'It says "queued" about the product.'],
    ['a status that was not sent', { id: 1, status: 'ARCHIVED' }, 'It says "ARCHIVED" about the product.'],
    ['another name', { id: 1, status: 'updated', name: 'Chair' }, 'It gives the product the name "Chair".'],
    [
      'another name inside',
      { status: 'ok', product: { id: 1, name: 'Chair' } },
      'It gives the product the name "Chair".',
    ],
  ])('a product is looked up where the answer has %s', (_name, result, why) => {
    const body = { results: [{ sku: 'A', ...result }] };
    expect(membersOf(200, body)?.[0]).toEqual({ kind: 'unknown', why });
  });

  it('a product is looked up where two results or two words about it contradict each other', () => {
    const results = [
      { sku: 'A', id: 1 },
      { sku: 'A', id: 2 },
      { sku: 'B', action: 'created', status: 'failed' },
      { sku: 'C', success: true, status: 'exists' },
    ];
    expect(read(200, { results })).toEqual(['?', '?', '?']);
  });

  it('an id that the answer gives to two products is the id of neither', () => {
    const results = [
      { sku: 'A', id: 7, status: 'created' },
      { sku: 'B', id: 7, status: 'created' },
      { sku: 'C', id: 8, status: 'created' },
    ];
    expect(read(200, { results })).toEqual(['created', 'created', 'created:8']);
  });

  it('the words of the results are those of the profile', () => {
    const words = createWordReader(Profile.parse({ imports: { words: { stored: ['Merged'] } } }).imports.words);
    expect(words.said({ status: ' merged ' }, undefined)).toEqual({ said: 'stored' });
    expect(words.said({ status: 'ok' }, undefined)).toEqual({ said: 'unclear', word: 'ok' });
  });
});

describe('the form of the results of an import', () => {
  const formOf = (results: object[]) => {
    const outcome = outcomeOf(200, { results });
    return outcome.kind === 'accepted' ? outcome.form : undefined;
  };

  it('the form of results has the names, types and words, and no values', () => {
    const result = { sku: 'A', status: 'Created', id: 7, note: null, errors: {} };
    const form = ['errors: object', 'id: number', 'sku: string', 'status = created', 'status: string'];
    expect(formOf([result])).toEqual(form);
    expect(formOf([{ ...result, sku: 'B', id: 8 }])).toEqual(form);
    expect(formOf([{ ...result, id: '0b5e7c1a-7f3d-4c55-9a0e-2f6d8c1b4a39' }])).toContain('id: uuid');
    expect(formOf([{ ...result, status: 'saved' }])).toContain('status = saved');
  });

  it('the form of results leaves out products that were refused', () => {
    expect(formOf([{ sku: 'A', status: 'failed', errors: { name: ['No.'] } }])).toEqual([]);
  });
});

describe('the answer to an import says what happened to each member', () => {
  const all = ['created:1', 'updated:2', 'refused(name: Too long.)'];
  it.each<[string, unknown, string[]]>([
    [
      'results with the natural key, in any order',
      {
        results: [
          { sku: 'C', status: 'failed', errors: { name: ['Too long.'] } },
          { sku: 'A', status: 'created', id: 1 },
          { sku: 'B', status: 'updated', id: 2 },
        ],
      },
      all,
    ],
    [
      'results with an index',
      {
        items: [
          { index: 2, status: 'error', errors: [{ field: 'name', message: 'Too long.' }] },
          { index: 0, status: 'Created', product: { id: 1 } },
          { index: 1, status: 'UPDATED', product: { id: 2 } },
        ],
      },
      all,
    ],
    [
      'rows counted from 1',
      {
        data: {
          rows: [
            { row: 1, action: 'created', id: 1 },
            { row: 2, action: 'updated', id: 2 },
            { row: 3, success: false, error: { name: 'Too long.' } },
          ],
        },
      },
      all,
    ],
    [
      'a bare list in the order of what was sent',
      [
        { status: 201, id: 1 },
        { status: 'updated', id: 2 },
        { status: 422, errors: { name: ['Too long.'] } },
      ],
      // Their order does not name the members surely enough to believe the ids.
      ['created', 'updated', 'refused(name: Too long.)'],
    ],
    [
      'lists by the result of their entries',
      {
        created: [{ sku: 'A', id: 1 }],
        updated: [{ sku: 'B', id: 2 }],
        failed: [{ sku: 'C', errors: { name: ['Too long.'] } }],
      },
      all,
    ],
    [
      'natural keys by their result, and errors by key',
      { created: ['A'], updated: ['B'], errors: { C: { name: ['Too long.'] } } },
      ['created', 'updated', 'refused(name: Too long.)'],
    ],
    ['errors by place', { imported: ['A', 'B'], errors: { 2: 'Bad.' } }, ['stored', 'stored', 'refused(Bad.)']],
    ['counts that add up', { created: 0, updated: 3, failed: 0 }, ['updated', 'updated', 'updated']],
    ['counts of both kinds', { summary: { created: 1, updated: 2, errors: [] } }, ['mixed', 'mixed', 'mixed']],
    ['one count of all', { imported: 3 }, ['stored', 'stored', 'stored']],
    [
      'the products as they are now, with the status that was sent',
      [
        { id: 1, sku: 'A', status: 'DRAFT' },
        { id: 2, sku: 'B', status: 'DRAFT' },
        { id: 3, sku: 'C', status: 'LIVE' },
      ],
      ['stored:1', 'stored:2', 'stored:3'],
    ],
    [
      'what did not change',
      { results: KEYS.map((sku) => ({ sku, result: 'unchanged' })) },
      ['updated', 'updated', 'updated'],
    ],
  ])('an answer to an import gives each member its outcome: %s', (_name, body, expected) => {
    expect(read(200, body)).toEqual(expected);
  });

  it.each<[string, unknown, string[]]>([
    ['nothing', '', ['?', '?', '?']],
    ['a job that has only begun', { job_id: 9, status: 'queued' }, ['?', '?', '?']],
    ['counts that do not add up', { created: 1, updated: 1 }, ['?', '?', '?']],
    ['counts with a failure', { updated: 2, failed: 1 }, ['?', '?', '?']],
    ['members not named', { created: ['A'], failed: [] }, ['created', '?', '?']],
    [
      'keys that were not sent, whatever place is named',
      { results: [{ index: 0, sku: 'X', status: 'created' }] },
      ['?', '?', '?'],
    ],
    ['counts that are more than was sent', { updated: 3, failed: 1 }, ['?', '?', '?']],
    ['keys that were not sent', { results: [{ sku: 'X', status: 'created' }] }, ['?', '?', '?']],
    [
      'keys that were not sent, though as many as were',
      { results: ['X', 'Y', 'C'].map((sku) => ({ sku, status: 'created' })) },
      ['?', '?', 'created'],
    ],
    [
      'rows of which nobody knows whether 0 or 1 is the first',
      { failed: [{ row: 1, errors: ['Bad.'] }] },
      ['?', '?', '?'],
    ],
    ['numbers that may be ids', { created: [0, 1], updated: [2] }, ['?', '?', '?']],
    ['two words on one member', { created: ['A'], failed: ['A'] }, ['?', '?', '?']],
    [
      'words that are none of these',
      { results: KEYS.map((sku) => ({ sku, status: 'pending', id: 1 })) },
      ['?', '?', '?'],
    ],
  ])('an answer to an import leaves open what it does not tell of a member: %s', (_name, body, expected) => {
    expect(read(200, body)).toEqual(expected);
  });

  it('an answer to an import of new products that refuses a row with an id leaves it open whether the product exists', () => {
    const member = (status: number, row: object) => {
      const answer = {
        kind: 'answer',
        status,
        headers: {},
        body: JSON.stringify({ results: [row] }),
        cut: null,
      } as const;
      const outcome = classify.outcomeOf(answer, expectation(['A'], ['sku']));
      return 'members' in outcome ? outcome.members?.[0] : undefined;
    };
    const open = { kind: 'refused', namesItem: true, detail: { message: 'No name.' } };
    expect(member(200, { sku: 'A', id: 4, error: 'No name' })).toMatchObject(open);
    expect(member(200, { sku: 'A', id: 4, status: 'failed', error: 'No name' })).toMatchObject(open);
    expect(member(200, { product: { sku: 'A', id: 4 }, error: 'No name' })).toMatchObject(open);
    expect(member(200, { sku: 'A', error: 'No name' })).not.toHaveProperty('namesItem');
    expect(member(200, { row: 1, id: 4, error: 'No name' })).not.toHaveProperty('namesItem');
    expect(member(400, { sku: 'A', id: 4, error: 'No name' })).not.toHaveProperty('namesItem');
    expect(membersOf(200, { results: [{ sku: 'A', id: 4, error: 'No name' }] })?.[0]).not.toHaveProperty('namesItem');
  });

  it('an answer to an import counts a skipped member as refused, since it is not stored as it was sent', () => {
    expect(read(200, { results: [{ sku: 'A', status: 'skipped', reason: 'It exists.' }] })?.[0]).toBe(
      'refused(It exists.)',
    );
    expect(read(200, { updated: ['A', 'B'], failed: ['C'] })?.[2]).toBe(
      'refused(The import refused the product and gave no reason.)',
    );
  });

  it('an answer to an import identifies members without a natural key by their place alone', () => {
    expect(
      read(
        200,
        {
          results: [
            { index: 1, status: 'created' },
            { index: 0, status: 'updated' },
          ],
        },
        [null, null],
      ),
    ).toEqual(['updated', 'created']);
  });
});

describe('a refused import', () => {
  it.each<[string, unknown, string[]]>([
    [
      'with a list of errors as DRF has it',
      [{}, { sku: ['This field is required.'] }, {}],
      ['untouched', 'refused(sku: This field is required.)', 'untouched'],
    ],
    [
      'with that list under the name of the member',
      { products: [{}, {}, { name: 'Too long.', sku: 'No.' }] },
      ['untouched', 'untouched', 'refused(name: Too long. sku: No.)'],
    ],
    [
      'with errors by place under the name of the member',
      { products: { 1: { name: ['Too long.'] } } },
      ['untouched', 'refused(name: Too long.)', 'untouched'],
    ],
    [
      'with problems by index',
      { detail: 'Invalid.', errors: [{ index: 0, errors: { name: ['Too long.'] } }] },
      ['refused(name: Too long.)', 'untouched', 'untouched'],
    ],
    [
      'that stored some all the same',
      { created: ['A'], failed: [{ sku: 'B', error: 'No.' }] },
      ['created', 'refused(No.)', '?'],
    ],
  ])('a refused import names who is at fault: %s', (_name, body, expected) => {
    expect(read(400, body)).toEqual(expected);
    expect(read(422, body)).toEqual(expected);
  });

  it('a refused import that names nobody is refused as a whole', () => {
    expect(read(400, { detail: 'The file is too large.' })).toBeNull();
    expect(read(413, '<h1>Too large</h1>')).toBeNull();
    expect(read(400, { products: ['This field is required.'] })).toBeNull();
    expect(read(400, ['Bad.', 'Worse.', 'Worst.'])).toBeNull();
  });
});

describe('whatever the answer is', () => {
  it('an answer to an import gives one outcome for each member, and none claims what was not said', () => {
    const word = fc.constantFrom('created', 'updated', 'failed', 'queued', 'DRAFT', 'A', 'B', 'X');
    const leaf = fc.oneof(word, fc.nat(4), fc.constant(null), fc.boolean());
    const name = fc.constantFrom(
      'results',
      'created',
      'failed',
      'errors',
      'sku',
      'index',
      'row',
      'status',
      'id',
      'data',
      '0',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(200, 207, 400), (body, status) => {
        const members = read(status, JSON.stringify(body), ['A', 'B']);
        if (status !== 400) expect(members).toHaveLength(2);
        const text = JSON.stringify(body);
        if (members?.some((member) => member.startsWith('created'))) expect(text).toContain('created');
        if (status !== 400 && members?.some((member) => member.startsWith('refused'))) {
          expect(text).toMatch(/failed|errors/);
        }
        if (status === 400 && members !== null)
          expect(members.some((member) => member.startsWith('refused'))).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});
