import fc from 'fast-check';
import { errors } from 'undici';
import { describe, expect, it } from 'vitest';
import { createCleanText } from '../../../src/api/answers/answer-text.ts';
import {
  answersList,
  createClassifier,
  type Expectation,
  NOTHING_EXPECTED,
} from '../../../src/api/answers/classify.ts';
import { createWordReader } from '../../../src/api/answers/import-words.ts';
import { sentIdentities } from '../../../src/api/answers/sent-identity.ts';
import type { Exchange, Loss } from '../../../src/api/transport.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { SentWrite } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import type { AnswerHeaders } from '../../../src/lib/retry-after.ts';
import { ASKED_WAIT_MAX_MS } from '../../../src/lib/retry-after.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const unprocessed = Profile.parse({}).answers.unprocessed503;
const classifier = createClassifier({ clean: createCleanText(createSecretStore()), now: () => NOW, unprocessed });

const CREATE: Expectation = { needsId: true, idPaths: ['id', 'data.id'], uniqueFields: ['sku'] };
const UPDATE: Expectation = { needsId: false, idPaths: ['id', 'data.id'], uniqueFields: [] };

function answer(status: number, body = '', headers: AnswerHeaders = {}, cut: Loss | null = null): Exchange {
  return { kind: 'answer', status, headers, body, cut };
}

function classified(status: number, body = '', expectation = CREATE): Outcome {
  return classifier.outcomeOf(answer(status, body), expectation);
}

/** The outcome in one word, for tables. */
function wordOf(outcome: Outcome): string {
  if (outcome.kind === 'denied') return `denied:${outcome.by}`;
  if (outcome.kind === 'ambiguous') return `ambiguous:${outcome.cause}`;
  if (outcome.kind === 'unavailable') return `unavailable:${outcome.sent ? 'sent' : 'unsent'}`;
  return outcome.kind;
}

describe('a status', () => {
  const SPECIAL: Record<number, string> = {
    401: 'denied:key',
    402: 'denied:plan',
    403: 'denied:scope',
    408: 'ambiguous:timeout',
    409: 'gated',
    429: 'throttled',
    503: 'ambiguous:timeout',
    504: 'ambiguous:timeout',
  };
  const expected = (status: number): string => {
    const special = SPECIAL[status];
    if (special !== undefined) return special;
    if (status < 200) return 'ambiguous:unreadable_answer';
    if (status < 300) return 'accepted';
    return status < 500 ? 'refused' : 'ambiguous:server_error';
  };

  it.each(Array.from({ length: 500 }, (_, index) => index + 100))('the status %i has its one meaning', (status) => {
    const body = status < 300 ? '{"id": 7}' : '{"detail": "words"}';
    expect(wordOf(classified(status, body))).toBe(expected(status));
  });

  it('a refusal keeps the words of the API as sentences, and gets some where the API has none', () => {
    expect(classified(403, '{"detail": "Role is not sufficient."}')).toMatchObject({
      detail: { status: 403, message: 'Role is not sufficient.' },
    });
    expect(classified(429, '{"detail": "Request was throttled"}')).toMatchObject({
      detail: { status: 429, message: 'Request was throttled.' },
    });
    expect(classified(422, '')).toMatchObject({ detail: { message: 'The API answered with 422 and gave no reason.' } });
  });

  it('a redirect is reported with its target without the query', () => {
    const exchange = answer(302, '', { location: 'https://elsewhere.example/login?token=abc' });
    expect(classifier.outcomeOf(exchange, CREATE)).toMatchObject({
      kind: 'refused',
      detail: {
        message: expect.stringMatching(
          /redirect \(302\) to https:\/\/elsewhere\.example\/login\. dpp-sync follows no redirect/ as never,
        ),
      },
    });
  });
});

describe('a success', () => {
  it('a success gives the id in its JSON type', () => {
    expect(classified(201, '{"id": 7}')).toEqual({ kind: 'accepted', evidence: 'id', remoteId: 7 });
    expect(classified(200, '{"data": {"id": "0f9c"}}')).toEqual({ kind: 'accepted', evidence: 'id', remoteId: '0f9c' });
  });

  it('a success without an id is no success of a create', () => {
    for (const body of ['', '{}', '[]', 'null', '{"id": null}', '{"id": ""}', '{"id": {"a": 1}}', '{"id": 1.5}']) {
      expect(wordOf(classified(201, body)), body).toBe('ambiguous:unreadable_answer');
      // The write may have arrived. Such an answer shows that the API works; a page in place of an answer does not.
      expect(classified(201, body), body).toHaveProperty('atWork', true);
    }
    expect(classified(201, '<html>Maintenance</html>')).not.toHaveProperty('atWork');
  });

  it('a successful answer to a write that needs no id may be empty, but not garbage', () => {
    expect(classified(204, '', UPDATE)).toEqual({ kind: 'accepted', evidence: 'bare', remoteId: null });
    expect(classified(200, '{"name": "x"}', UPDATE)).toEqual({ kind: 'accepted', evidence: 'bare', remoteId: null });
    expect(wordOf(classified(200, '<html>Please sign in</html>', UPDATE))).toBe('ambiguous:unreadable_answer');
    expect(wordOf(classified(200, '{"id": 7', UPDATE))).toBe('ambiguous:unreadable_answer');
  });

  it('a successful answer to a write that needs no id may be plain text, and a page of HTML stands in the place of an answer', () => {
    expect(classified(200, 'Updated.', UPDATE)).toEqual({ kind: 'accepted', evidence: 'bare', remoteId: null });
    for (const page of ['<!doctype html><p>Hi', '\n<html>', '<h1>Maintenance</h1>'])
      expect(classified(200, page, UPDATE)).toEqual(expect.not.objectContaining({ atWork: true }));
    // The API has answered, and the list has to show the id.
    expect(classified(201, 'Created.')).toMatchObject({ kind: 'ambiguous', atWork: true });
  });

  it('a successful answer in plain text to an import says nothing of its members', () => {
    const names = { keyNames: ['sku'], uniqueFields: [], idPaths: ['id'], resultsAt: ['results'], nameField: 'name' };
    const words = createWordReader(Profile.parse({}).imports.words);
    const members = { ...names, keys: ['A', 'B'], words, sent: () => [] };
    const outcomeOf = (body: string) => classified(200, body, { ...NOTHING_EXPECTED, members });
    const unknown = [{ kind: 'unknown' }, { kind: 'unknown' }];
    for (const body of ['Import finished.', '2 rows', '{"results": [', '']) {
      const expected = { kind: 'accepted', evidence: 'bare', remoteId: null, members: unknown, form: [] };
      expect(outcomeOf(body), body).toEqual(expected);
    }
    expect(wordOf(outcomeOf('<html>Please sign in</html>'))).toBe('ambiguous:unreadable_answer');
  });
});

describe('an answer that repeats what was sent', () => {
  const profile = Profile.parse({});
  const id = '0f9c1f3e-5f0e-4c57-9a51-6e1c5c6f8a01';
  const other = '7a1c1f3e-5f0e-4c57-9a51-6e1c5c6f8a02';
  function answered(
    write: Pick<SentWrite, 'operation' | 'path'>,
    sent: object | null,
    shown: object,
    others: Partial<Expectation> = {},
  ): Outcome {
    const committed = { ...write, body: sent === null ? null : JSON.stringify(sent), idempotencyKey: 'k' };
    const expectation = {
      ...UPDATE,
      ...others,
      sent: () => sentIdentities(profile)(committed),
    };
    return classified(200, JSON.stringify(shown), expectation);
  }
  const create = { operation: 'product.create', path: '/api/products/' } as const;
  const material = { operation: 'material.create', path: '/api/materials/' } as const;
  const update = { operation: 'material.update', path: '/api/materials/7/' } as const;
  const part = { operation: 'bom_item.create', path: '/api/bom-items/' } as const;
  const publish = { operation: 'passport.publish', path: '/api/dpp/7/publish/' } as const;
  const publishUuid = { operation: 'passport.publish', path: `/api/dpp/${id}/publish/` } as const;

  it.each([
    [create, { sku: 'P-2' }, { id: 1, sku: 'P-1' }],
    [create, { sku: 'P-2' }, { data: { id: 1, sku: 'P-1' } }],
    [create, { sku: 'P-2' }, { id: 1, sku: 1 }],
    [material, { code: 'M-2', name: 'Tin' }, { id: 1, code: 'M-1', name: 'Tin' }],
    [material, { name: 'Tin' }, { id: 1, code: null, name: 'Zinc' }],
    [update, { name: 'Tin' }, { id: 8, name: 'Tin' }],
    [update, { code: 'M-2' }, { id: 7, code: 'M-1' }],
    [part, { product: 1, material: 5 }, { id: 9, product: 2, material: 5 }],
    [part, { product: id, material: other }, { id: 9, product: { id: other }, material: other }],
    [part, { product: 1, material: 5 }, { id: 9, product: 1, material: null, component: 5 }],
    [part, { product: 1, component: 5 }, { id: 9, product: 1, material: { id: 4 }, component: null }],
    [create, { sku: 'P-2', name: 'Cup' }, { id: 1, sku: 'P-2', name: 'Plate' }],
    [create, { sku: 'P-2', name: 'Cup' }, { id: 1, name: 'Plate' }],
    [create, { sku: 'P-2', name: 'Cup' }, { id: 1, code: 'M-2' }],
    [create, { sku: 'P-2', name: 'Cup' }, { id: 1, product: 4, material: 5, quantity: '1' }],
    [material, { code: 'M-2', name: 'Tin' }, { id: 1, code: 'M-2', name: 'Tin (pure)' }],
    [material, { name: 'Tin' }, { id: 1, sku: 'P-1' }],
    [material, { code: 'M-2', name: 'Tin' }, { id: 1, sku: 'P-1', name: 'Tin' }],
    [update, { name: 'Tin' }, { id: 7, name: 'Zinc' }],
    [part, { product: 1, material: 5, quantity: '1' }, { id: 9, product: 1, material: 5, quantity: '2' }],
    [part, { product: 1, material: 5, quantity: '0.5' }, { id: 9, quantity: '1' }],
    [part, { product: 1, material: 5, quantity: '1', unit: 'KGM' }, { id: 9, quantity: 1, unit: 'GRM' }],
    [part, { product: 1, material: 5, quantity: '1' }, { id: 5, code: 'M-5', name: 'Tin' }],
    [publish, null, { id: 3, product: 8 }],
    [publishUuid, null, { id: 3, product_id: other }],
  ])(
    'an answer that repeats what was sent is not believed in %j where it has another: %j, %j',
    (write, sent, shown) => {
      const outcome = answered(write, sent, shown);
      expect(outcome).toMatchObject({ kind: 'ambiguous', cause: 'crossed', atWork: true });
      expect('detail' in outcome && outcome.detail.message).toMatch(
        /^The answer is about another request: it has the /,
      );
    },
  );

  it.each([
    [create, { sku: 'P-2' }, { id: 1, sku: 'P-2' }],
    [create, { sku: 'P-2' }, { id: 1 }],
    [create, { sku: 'P-2' }, { id: 1, sku: null }],
    [create, { sku: '12' }, { id: 1, sku: 12 }],
    [create, { sku: 'P-2' }, { sku: 'the type of this answer', data: { id: 1, sku: 'P-2' } }],
    [material, { code: 'M-2', name: 'Tin' }, { id: 1, code: 'M-2', name: ' TIN ' }],
    [create, { sku: 'P-2', name: 'x'.repeat(60) }, { id: 1, sku: 'P-2', name: 'x'.repeat(50) }],
    [create, { sku: 'P-2', status: 'DRAFT' }, { id: 1, sku: 'P-2', status: 'active' }],
    // A field of the item has a name that an answer with a list of problems uses as well.
    [create, { sku: 'P-2' }, { id: 1, sku: 'P-2', status: 'error', errors: ['No image.'] }],
    [part, { product: 1, material: 5, quantity: '1.50' }, { id: 9, quantity: 1.5 }],
    [part, { product: 1, material: 5, quantity: '0.33333', unit: 'KGM' }, { id: 9, quantity: '0.33', unit: 'kg' }],
    [part, { product: 1, material: 5, quantity: '2', unit: 'C62' }, { id: 9, quantity: '2.000', unit: 'PCE' }],
    [part, { product: 1, material: 5, quantity: '2', unit: 'KGM' }, { id: 9, quantity: '2', unit: 'KG' }],
    [part, { product: 1, material: 5, quantity: '2' }, { code: 0, message: 'success', data: { id: 9 } }],
    [part, { product: 1, material: 5, quantity: '2' }, { code: 201, data: { id: 9 } }],
    [part, { product: 1, material: 5, quantity: '2' }, { code: 'OK', msg: 'Created.', id: 9 }],
    [create, { sku: 'P-2', name: 'Cup' }, { code: 201, message: 'Created.', id: 1 }],
    [update, { name: 'Tin' }, { id: '7', name: 'Tin' }],
    // The field of an id may have another value, such as an SKU or an address.
    [part, { product: 1, material: 5 }, { id: 9, product: 'SKU-1', material: 'https://dpp.example/materials/5/' }],
    [part, { product: id, material: id }, { id: 9, product: 'SKU-1', material: id.toUpperCase() }],
    [part, { product: 1, material: 5 }, { id: 9, product: 1, component: 4 }],
    [part, { product: 1, material: 5 }, { id: 9, product: 1, material: null, component: 'a part' }],
    [part, { product: 1, material: 5 }, { id: 9, product: 1, material: null, component: null }],
    [publish, null, { id: 3, product: 7, sku: 'P-1' }],
    [publish, null, { id: 3, product: 'P-1' }],
  ])(
    'an answer that repeats what was sent is believed in %j where it has the same, or none: %j, %j',
    (write, sent, shown) => {
      expect(answered(write, sent, shown)).not.toHaveProperty('shownAs');
      expect(answered(write, sent, shown).kind).toBe('accepted');
    },
  );

  it.each([
    [create, { sku: 'P-2', name: 'Cup' }, { id: 1, sku: 'P-2' }, 'echo'],
    [create, { sku: 'P-2', name: 'Cup' }, { id: 1, name: 'Cup' }, 'id'],
    [create, { sku: 'P-2' }, { id: 1 }, 'id'],
    [material, { name: 'Tin' }, { data: { id: 1, name: 'Tin' } }, 'echo'],
    [update, { name: 'Tin' }, { id: 7 }, 'echo'],
    [update, { name: 'Tin' }, { name: 'Tin' }, 'echo'],
    [update, { description: 'x' }, { updated: true }, 'bare'],
    [part, { product: 1, material: 5 }, { id: 9, product: 1, material: 5 }, 'echo'],
    [part, { product: 1, material: 5 }, { id: 9, product: 1 }, 'id'],
    [part, { product: 1, material: 5 }, {}, 'bare'],
  ])('the answer to %j, which sent %j, proves as much as it repeats: %j is %s', (write, sent, shown, evidence) => {
    expect(answered(write, sent, shown)).toMatchObject({ kind: 'accepted', evidence });
  });

  const words = expect.stringContaining('Locked') as string;
  const unclear = { kind: 'accepted', evidence: 'unknown_word', words };
  const refused = { kind: 'refused', detail: { message: words } };
  it.each([
    [part, { product: 1, material: 5 }, { id: 9, error: 'Locked' }, { ...unclear, remoteId: 9 }],
    [part, { product: 1, material: 5 }, { data: { id: 9 }, errors: ['Locked'] }, { ...unclear, remoteId: 9 }],
    [part, { product: 1, material: 5 }, { id: 9, success: false, error: 'Locked' }, { ...unclear, remoteId: 9 }],
    [part, { product: 1, material: 5 }, { product: 1, material: 5, error: 'Locked' }, { ...unclear, remoteId: null }],
    [part, { product: 1, material: 5 }, { error: 'Locked' }, refused],
    [part, { product: 1, material: 5 }, { success: false, error: 'Locked' }, refused],
    [update, { description: 'x' }, { id: 7, error: 'Locked' }, { ...unclear, remoteId: 7 }],
    [update, { name: 'Tin' }, { name: 'Tin', errors: ['Locked'] }, { ...unclear, remoteId: null }],
    [update, { description: 'x' }, { id: 7, success: false, error: 'Locked' }, refused],
    [update, { description: 'x' }, { error: 'Locked' }, refused],
    [create, { sku: 'P-2' }, { id: 1, error: 'Locked' }, { ...refused, mayExist: true, namesItem: true }],
    [create, { sku: 'P-2' }, { sku: 'P-2', errors: ['Locked'] }, { ...refused, mayExist: true, namesItem: true }],
    [create, { sku: 'P-2' }, { error: 'Locked' }, { ...refused, mayExist: true }],
  ])(
    'a success to %j, which sent %j, with a problem is unclear where it names the item: %j',
    (write, sent, shown, is) => {
      const others = {
        [part.operation]: { unlisted: true },
        [create.operation]: CREATE,
        [update.operation]: {},
      } as const;
      expect(answered(write, sent, shown, others[write.operation])).toMatchObject(is);
    },
  );

  it('an answer that repeats what was sent in another form is believed, and the form is reported', () => {
    for (const sku of ['p-2', ' P-2 ', 'Ｐ-2'])
      expect(answered(create, { sku: 'P-2' }, { id: 1, sku })).toEqual({
        kind: 'accepted',
        evidence: 'echo',
        remoteId: 1,
        shownAs: expect.stringContaining('"P-2" was sent.') as unknown,
      });
  });
});

describe('an answer to a publication or a withdrawal', () => {
  const state = {
    statusPaths: ['status', 'state'],
    done: new Set(['published', 'live']),
    idPaths: ['id', 'data.id', 'product'],
  };
  const said = (status: number, body: string): Outcome =>
    classified(status, body, { ...NOTHING_EXPECTED, isPassport: true, state });

  it.each([
    [200, '{"status": "published"}', { evidence: 'echo' }],
    [200, '{"data": {"id": 4, "state": "LIVE"}}', { evidence: 'echo' }],
    [202, '', { evidence: 'bare' }],
    [204, '', { evidence: 'bare' }],
    [200, 'OK', { evidence: 'bare' }],
    [200, '{"id": 4, "product": 7}', { evidence: 'id' }],
    [200, '{"status": "queued"}', { evidence: 'unknown_word', words: 'queued' }],
    [200, '{"id": 4, "state": "pending_review"}', { evidence: 'unknown_word', words: 'pending_review' }],
    [200, '{"id": 4, "status": "initialized"}', { evidence: 'unknown_word', words: 'initialized' }],
  ])('an answer to a publication proves it only in a known word: %i %s', (status, body, expected) => {
    expect(said(status, body)).toEqual({ kind: 'accepted', remoteId: null, ...expected });
  });

  it('an answer to a publication that states a failure is a refusal by a business rule', () => {
    expect(said(200, '{"success": false, "error": "review missing"}')).toEqual({
      kind: 'gated',
      detail: { status: 200, message: 'review missing.' },
    });
  });
});

describe('a success that states a failure', () => {
  it.each([
    '{"success": false, "error": "sku invalid"}',
    '{"ok": false, "message": "sku invalid"}',
    '{"status": "error", "message": "sku invalid"}',
    '{"id": 7, "success": false, "detail": "sku invalid"}',
    '{"errors": ["sku invalid"]}',
    '{"data": null, "errors": [{"message": "sku invalid"}]}',
    '{"error": {"message": "sku invalid"}}',
  ])('a success that states a failure is a refusal, with the words of the platform: %s', (body) => {
    for (const status of [200, 201]) {
      expect(classified(status, body)).toEqual({
        kind: 'refused',
        detail: { status, message: 'sku invalid.' },
        mayExist: true,
        ...(body.includes('"id"') && { namesItem: true }),
      });
      const update = classified(status, body, UPDATE);
      expect(update).toEqual({ kind: 'refused', detail: { status, message: 'sku invalid.' } });
    }
  });

  it('a success that states a failure because the item exists means that it exists', () => {
    expect(classified(200, '{"success": false, "error": {"sku": ["already exists"]}}').kind).toBe('exists');
  });

  it('a success without a problem states no failure', () => {
    for (const body of [
      '{"id": 7, "errors": []}',
      '{"id": 7, "error": null}',
      '{"id": 7, "success": true, "error": ""}',
      '{"id": 7, "success": true, "errors": {"count": 0}}',
      '{"data": {"id": 7}, "ok": true, "error": {"code": 0, "message": ""}}',
    ])
      expect(classified(201, body).kind, body).toBe('accepted');
  });
});

it('a list is distinguished from a page in its place, as far as either was read', () => {
  const isList = (body: string, cut: Loss | null = null): boolean =>
    answersList({ kind: 'answer', status: 200, headers: {}, body, cut });
  const long: Loss = { by: 'size', bytesMax: 9 };
  expect(['[]', '{"results": []}'].map((body) => isList(body))).toEqual([true, true]);
  expect(['', '"ok"', '7', 'null', '<html></html>', '[{"id":'].map((body) => isList(body))).not.toContain(true);
  expect([isList('[{"id":', long), isList(' {"count"', long), isList('', long)]).toEqual([true, true, true]);
  expect([isList('<html><bo', long), isList('[{"id":', { by: 'deadline', totalMs: 9 })]).toEqual([false, false]);
});

describe('a create of what is there already', () => {
  it.each([
    [400, '{"sku": ["product with this sku already exists."]}'],
    [400, '{"sku": [{"message": "Nope.", "code": "unique"}]}'],
    [400, '{"type": "validation_error", "errors": [{"code": "unique", "detail": "Nope.", "attr": "sku"}]}'],
    [400, '{"non_field_errors": ["The fields organization, sku must make a unique set."]}'],
    [409, '{"detail": "A product with this SKU already exists."}'],
    [409, 'Duplicate entry'],
    [422, '{"errors": {"sku": ["has already been taken"]}}'],
    [422, '{"errors": [{"detail": "is not unique", "source": {"pointer": "/data/attributes/sku"}}]}'],
  ])('a create of an existing item is recognised by %i %s', (status, body) => {
    expect(classified(status, body).kind).toBe('exists');
  });

  it.each([
    [400, '{"detail": "Nope."}'],
    [400, ''],
    [422, '{"errors": {"sku": ["Please choose another one."]}}'],
    [422, '{"errors": [{"detail": "Nope.", "source": {"pointer": "/data/attributes/sku"}}]}'],
    [409, '{"detail": "Conflict."}'],
    [400, 'Artikel bereits vorhanden'],
  ])('a create of an existing item may be meant by %i %s as well', (status, body) => {
    expect(classified(status, body)).toMatchObject({ kind: status === 409 ? 'gated' : 'refused', mayExist: true });
  });

  it('a create of an existing item is not recognised by errors of other fields, other statuses, or other writes', () => {
    for (const body of [
      '{"country_of_origin": ["Not a country."], "gtin": ["Wrong."]}',
      '{"title": "Bad Request", "detail": "The request is not valid.", "errors": {"gtin": ["Wrong."]}}',
    ])
      expect(classified(400, body)).not.toHaveProperty('mayExist');
    expect(classified(404, '{"detail": "Nope."}')).not.toHaveProperty('mayExist');
    expect(classified(413, '{"detail": "Nope."}')).not.toHaveProperty('mayExist');
    expect(classified(400, '{"detail": "Nope."}', UPDATE)).not.toHaveProperty('mayExist');
  });

  it('a create of an existing item is not recognised by the same words about another field, status or operation', () => {
    expect(classified(400, '{"gtin": ["product with this gtin already exists."]}').kind).toBe('refused');
    expect(classified(403, '{"detail": "already exists"}').kind).toBe('denied');
    expect(classified(400, '{"sku": ["already exists"]}', UPDATE).kind).toBe('refused');
    expect(classified(409, '{"detail": "already exists"}', UPDATE).kind).toBe('gated');
  });
});

describe('a 409', () => {
  it('a 409 is a business rule unless it says that the idempotency key is still at work', () => {
    expect(classified(409, '{"detail": "Publication needs a review."}').kind).toBe('gated');
    expect(classified(409, '{"detail": "The review is in progress."}').kind).toBe('gated');
    for (const body of [
      '{"title": "A request is outstanding for this Idempotency-Key"}',
      '{"code": "idempotency_key_in_use", "message": "Try again."}',
      '{"error": {"code": "idempotency_error", "message": "Another request with this key is in progress"}}',
      '{"detail": "Idempotency key already in use by a request that is being processed."}',
    ]) {
      expect(classified(409, body).kind, body).toBe('in_flight');
    }
  });
});

describe('Retry-After', () => {
  const wait = (value: string | string[] | undefined, headers: AnswerHeaders = {}): unknown => {
    const outcome = classifier.outcomeOf(answer(429, '', { ...headers, 'retry-after': value }), CREATE);
    return outcome.kind === 'throttled' ? outcome.retryAfterMs : outcome;
  };

  it.each([
    ['7', 7_000],
    ['0', 0],
    [' 2 ', 2_000],
    ['0.5', 500],
    ['99999999999999999999', ASKED_WAIT_MAX_MS],
    ['-5', null],
    ['soon', null],
    ['', null],
    ['1e9', null],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sunday, 01-Mar-26 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Sun, 01 Mar 2099 12:00:00 GMT', ASKED_WAIT_MAX_MS],
    ['Sun, 99 Mar 2026 12:00:00 GMT', null],
  ])('Retry-After with %j waits %j ms', (value, expected) => {
    expect(wait(value)).toBe(expected);
  });

  it('Retry-After with a date counts from the date of the answer', () => {
    expect(wait('Sun, 01 Mar 2026 09:00:10 GMT', { date: 'Sun, 01 Mar 2026 09:00:00 GMT' })).toBe(10_000);
  });

  it('Retry-After counts for a 503 as well, and proves nothing there', () => {
    expect(classifier.outcomeOf(answer(503, '', { 'retry-after': '3' }), CREATE)).toMatchObject({
      kind: 'ambiguous',
      cause: 'timeout',
      retryAfterMs: 3_000,
    });
    expect(classifier.outcomeOf(answer(503, 'no healthy upstream', { 'retry-after': '3' }), CREATE)).toMatchObject({
      kind: 'unavailable',
      sent: true,
      retryAfterMs: 3_000,
    });
  });
});

describe('a 503', () => {
  it.each([
    'no healthy upstream',
    'No Healthy Upstream',
    'upstream connect error or disconnect/reset before headers. reset reason: overflow',
    '{"detail": "Rate limit exceeded."}',
    '{"code": "rate_limited"}',
    '<h1>Too Many Requests</h1>',
    '{"message": "Request was throttled."}',
  ])('a 503 that says %j was not worked on: the write had no effect', (body) => {
    expect(wordOf(classified(503, body))).toBe('unavailable:sent');
  });

  it.each([
    '',
    'upstream connect error or disconnect/reset before headers. reset reason: connection termination',
    // An earlier attempt of the gateway may have arrived.
    'upstream connect error or disconnect/reset before headers. retried and the latest reset reason: overflow',
    '<html><h1>Service Temporarily Unavailable</h1></html>',
    '{"detail": "Service unavailable. Try again later."}',
    `${' '.repeat(5_000)}no healthy upstream`,
  ])('a 503 that says %j leaves a write unconfirmed', (body) => {
    expect(wordOf(classified(503, body))).toBe('ambiguous:timeout');
  });

  it('a 503 is understood by the words of the profile', () => {
    const own = createClassifier({
      clean: createCleanText(createSecretStore()),
      now: () => NOW,
      unprocessed: ['Wartung'],
    });
    expect(wordOf(own.outcomeOf(answer(503, 'Geplante WARTUNG'), CREATE))).toBe('unavailable:sent');
    expect(wordOf(own.outcomeOf(answer(503, 'no healthy upstream'), CREATE))).toBe('ambiguous:timeout');
  });
});

describe('a limit of this machine', () => {
  const lost = (code: string, sent: boolean): Exchange => ({
    kind: 'silence',
    sent,
    loss: { by: 'error', error: Object.assign(new Error(`connect ${code} 192.0.2.1:443`), { code }) },
  });

  it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL', 'ENOMEM'])('%s is no fault of the API', (code) => {
    const outcome = classifier.outcomeOf(lost(code, false), CREATE);
    expect(outcome).toMatchObject({ kind: 'unavailable', sent: false, local: true });
    expect(outcome).toHaveProperty(
      'detail.message',
      expect.stringMatching(new RegExp(`^This .*\\(${code}\\)\\. [A-Z]`)),
    );
  });

  it('a limit of this machine proves nothing about a request whose sending has begun', () => {
    expect(wordOf(classifier.outcomeOf(lost('ENOBUFS', true), CREATE))).toBe('ambiguous:reset');
  });

  it('a limit of this machine is distinguished from a connection that the API refuses', () => {
    expect(classifier.outcomeOf(lost('ECONNREFUSED', false), CREATE)).not.toHaveProperty('local');
  });
});

describe('a 429 that states when its quota is reset', () => {
  // The answer was sent at 09:00:00 by the server's clock, which is three hours behind ours.
  const DATE = 'Sun, 01 Mar 2026 09:00:00 GMT';
  const SENT_S = Date.UTC(2026, 2, 1, 9) / 1000;
  const wait = (headers: AnswerHeaders): unknown => {
    const outcome = classifier.outcomeOf(answer(429, '', { date: DATE, ...headers }), CREATE);
    return outcome.kind === 'throttled' ? outcome.retryAfterMs : outcome;
  };

  it.each<[string, AnswerHeaders, number | null]>([
    ['the present draft', { ratelimit: '"default";r=0;t=30' }, 30_000],
    ['a name that is a token', { ratelimit: 'default;r=0;t=30' }, 30_000],
    ['its parameters in another order', { ratelimit: '"default"; t=30; r=0' }, 30_000],
    ['several quotas, one used up', { ratelimit: '"second";r=0;t=1, "daily";r=900;t=3600' }, 1000],
    ['several quotas, two used up', { ratelimit: '"second";r=0;t=1, "daily";r=0;t=3600' }, 3_600_000],
    ['several lines', { ratelimit: ['"second";r=5;t=1', '"daily";r=0;t=3600'] }, 3_600_000],
    ['a quota that does not say what is left', { ratelimit: '"default";t=12' }, 12_000],
    ['an older draft in one field', { ratelimit: 'limit=10, remaining=0, reset=50' }, 50_000],
    ['an older draft in a field of its own', { 'ratelimit-reset': '50' }, 50_000],
    ['seconds', { 'x-ratelimit-reset': '7' }, 7000],
    ['a fraction of a second', { 'x-ratelimit-reset': '0.25' }, 250],
    ['a Unix time in seconds', { 'x-ratelimit-reset': String(SENT_S + 90) }, 90_000],
    ['a Unix time in seconds with a fraction', { 'x-ratelimit-reset': `${SENT_S + 90}.5` }, 90_500],
    ['a Unix time in milliseconds', { 'x-ratelimit-reset': String((SENT_S + 90) * 1000 + 1) }, 90_001],
    ['an HTTP date', { 'x-ratelimit-reset': 'Sun, 01 Mar 2026 09:01:00 GMT' }, 60_000],
    ['an ISO date', { 'x-ratelimit-reset': '2026-03-01T09:01:00Z' }, 60_000],
    ['an ISO date in another zone', { 'x-ratelimit-reset': '2026-03-01T10:01:00.5+01:00' }, 60_500],
    ['another spelling', { 'x-rate-limit-reset': String(SENT_S + 900) }, 900_000],
    ['a Unix time in a field that should hold seconds', { 'ratelimit-reset': String(SENT_S + 30) }, 30_000],
    ['the first field that can be meant', { 'ratelimit-reset': '0', 'x-ratelimit-reset': '9' }, 9000],
    [
      'a Unix time where the answer has no date',
      { date: undefined, 'x-ratelimit-reset': String(SENT_S + 10_805) },
      5000,
    ],
    ['a month', { 'x-ratelimit-reset': String(30 * 86_400) }, 30 * 86_400_000],
    ['nothing', {}, null],
    ['no wait', { ratelimit: '"default";r=0;t=0' }, null],
    ['a Unix time in the past', { 'x-ratelimit-reset': String(SENT_S - 1) }, null],
    ['a date in the past', { 'x-ratelimit-reset': 'Sun, 01 Mar 2026 08:59:59 GMT' }, null],
    ['seconds beyond a month', { 'x-ratelimit-reset': '9999999' }, null],
    ['a Unix time beyond a month', { 'x-ratelimit-reset': '4102444800' }, null],
    ['a time without a zone', { 'x-ratelimit-reset': '2026-03-01T09:01:00' }, null],
    ['a negative number', { 'x-ratelimit-reset': '-5' }, null],
    ['a power of ten', { ratelimit: '"default";r=-1;t=1e99' }, null],
    ['words', { 'x-ratelimit-reset': 'soon' }, null],
    ['Retry-After beside it', { 'retry-after': '3', ratelimit: '"default";r=0;t=30' }, 3000],
    ['a Retry-After that says nothing', { 'retry-after': 'soon', 'x-ratelimit-reset': '30' }, 30_000],
  ])('a 429 states when its quota is reset: %s', (_, headers, expected) => {
    expect(wait(headers)).toBe(expected);
  });

  it('the reset of a quota is of no account for a 503', () => {
    expect(classifier.outcomeOf(answer(503, '', { 'x-ratelimit-reset': '30' }), CREATE)).toMatchObject({
      retryAfterMs: null,
    });
  });
});

describe('an answer that is cut short', () => {
  const lost: Loss = { by: 'error', error: new errors.SocketError('other side closed') };

  it('an answer that is cut short decides nothing where its body would have', () => {
    for (const status of [200, 201, 400, 404, 409, 422]) {
      const outcome = classifier.outcomeOf(answer(status, '{"id": 7, "sku"', {}, lost), CREATE);
      expect(wordOf(outcome), String(status)).toBe('ambiguous:reset');
    }
  });

  it('an answer that is cut short counts where its status alone decides', () => {
    const word = (status: number) => wordOf(classifier.outcomeOf(answer(status, '{"det', {}, lost), CREATE));
    expect([401, 402, 403, 429, 503, 500].map(word)).toEqual([
      'denied:key',
      'denied:plan',
      'denied:scope',
      'throttled',
      'ambiguous:timeout',
      'ambiguous:server_error',
    ]);
  });

  it('an answer that is only too long is enough of a refusal', () => {
    const long: Loss = { by: 'size', bytesMax: 10 };
    expect(wordOf(classifier.outcomeOf(answer(400, '<h1>Bad', {}, long), CREATE))).toBe('refused');
    expect(wordOf(classifier.outcomeOf(answer(201, '{"id":', {}, long), CREATE))).toBe('ambiguous:unreadable_answer');
  });
});

describe('a failure on the way', () => {
  const coded = (code: string | undefined, message = 'it broke'): Error => Object.assign(new Error(message), { code });

  /** The meaning of each error code if the request may have been sent. */
  const CODES: Record<string, 'timeout' | 'unreadable_answer' | 'reset'> = {
    ENOTFOUND: 'reset',
    EAI_AGAIN: 'reset',
    ECONNREFUSED: 'reset',
    ECONNRESET: 'reset',
    EPIPE: 'reset',
    EHOSTUNREACH: 'reset',
    ENETUNREACH: 'reset',
    ETIMEDOUT: 'timeout',
    CERT_HAS_EXPIRED: 'reset',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'reset',
    ERR_TLS_CERT_ALTNAME_INVALID: 'reset',
    ERR_SSL_WRONG_VERSION_NUMBER: 'reset',
    HPE_INVALID_CONSTANT: 'unreadable_answer',
    HPE_INVALID_EOF_STATE: 'unreadable_answer',
    UND_ERR: 'reset',
    UND_ERR_CONNECT_TIMEOUT: 'timeout',
    UND_ERR_HEADERS_TIMEOUT: 'timeout',
    UND_ERR_BODY_TIMEOUT: 'timeout',
    UND_ERR_HEADERS_OVERFLOW: 'unreadable_answer',
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'unreadable_answer',
    UND_ERR_RES_EXCEEDED_MAX_SIZE: 'unreadable_answer',
    UND_ERR_SOCKET: 'reset',
    UND_ERR_CLOSED: 'reset',
    UND_ERR_DESTROYED: 'reset',
    UND_ERR_ABORT: 'reset',
    UND_ERR_ABORTED: 'reset',
    UND_ERR_INFO: 'reset',
    UND_ERR_PRX_TLS: 'reset',
    UND_ERR_PRX_CONN: 'reset',
    UND_ERR_REQ_RETRY: 'reset',
    UND_ERR_RESPONSE: 'reset',
    UND_ERR_REDIRECT_MAX: 'reset',
    UND_ERR_BPL_MISSING_UPSTREAM: 'reset',
    UND_ERR_MAX_ORIGINS_REACHED: 'reset',
    UND_ERR_SOCKS5: 'reset',
    UND_ERR_WS_MESSAGE_SIZE_EXCEEDED: 'reset',
    ERR_WEBASSEMBLY_NOT_SUPPORTED: 'reset',
    SOMETHING_NEW: 'reset',
  };
  const DEFECTS = [
    'UND_ERR_INVALID_ARG',
    'UND_ERR_INVALID_RETURN_VALUE',
    'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
    'UND_ERR_NOT_SUPPORTED',
  ];

  const silence = (sent: boolean, loss: Loss): string =>
    wordOf(classifier.outcomeOf({ kind: 'silence', sent, loss }, CREATE));

  it('a failure on the way has a meaning for every error code of the installed undici', () => {
    const codes = Object.values(errors).flatMap((type) => {
      const error: unknown = Reflect.construct(type as never, ['m', undefined, { headers: {}, data: {} }]);
      return error instanceof Error && 'code' in error && typeof error.code === 'string' ? [error.code] : [];
    });
    expect(codes.length).toBeGreaterThan(15);
    expect(codes.filter((code) => !(code in CODES) && !DEFECTS.includes(code))).toEqual([]);
  });

  it.each(Object.entries(CODES))('%s is unavailable before the request was sent, else unconfirmed', (code, cause) => {
    const loss: Loss = { by: 'error', error: coded(code) };
    expect(silence(false, loss)).toBe('unavailable:unsent');
    expect(silence(true, loss)).toBe(`ambiguous:${cause}`);
  });

  it.each(DEFECTS)('%s is a request that can never be sent', (code) => {
    expect(silence(false, { by: 'error', error: coded(code) })).toBe('refused');
  });

  it('a request that the deadline or the caller ended is unconfirmed only if it was sent', () => {
    for (const loss of [{ by: 'deadline', totalMs: 30_000 }, { by: 'abort' }] as const) {
      expect(silence(false, loss)).toBe('unavailable:unsent');
      expect(silence(true, loss)).toBe('ambiguous:timeout');
    }
  });

  it('a failure on the way is reported in one sentence that begins with a capital and names the code', () => {
    const outcome = classifier.outcomeOf(
      { kind: 'silence', sent: false, loss: { by: 'error', error: coded('ECONNREFUSED') } },
      CREATE,
    );
    expect(outcome).toMatchObject({
      detail: { status: null, message: 'The API refused the connection (ECONNREFUSED).' },
    });
  });

  it('a certificate of an unknown authority is reported with what makes it known', () => {
    const lost = (code: string) =>
      ({ kind: 'silence', sent: false, loss: { by: 'error', error: coded(code) } }) as const;
    expect(classifier.outcomeOf(lost('SELF_SIGNED_CERT_IN_CHAIN'), CREATE)).toMatchObject({
      detail: {
        message: expect.stringMatching(/is not trusted \(SELF_SIGNED_CERT_IN_CHAIN\)\. .* NODE_EXTRA_CA_CERTS\.$/),
      },
    });
    expect(classifier.outcomeOf(lost('CERT_HAS_EXPIRED'), CREATE)).toMatchObject({
      detail: { message: 'The certificate of the API has expired (CERT_HAS_EXPIRED).' },
    });
  });
});

describe('a hostile answer', () => {
  const KEY = 'dpp_live_4f9a8b7c6d5e4f3a2b1c';
  const OTHER = 'Zk3-plain-secret-without-prefix';
  const secrets = createSecretStore();
  secrets.add(KEY);
  secrets.add(OTHER);
  const wary = createClassifier({ clean: createCleanText(secrets), now: () => NOW, unprocessed });

  it('a hostile answer never gets the key into an outcome, however it repeats it', () => {
    const key = fc.constantFrom(KEY, OTHER);
    const text = fc.tuple(fc.string(), key, fc.string()).map((parts) => parts.join(''));
    const tagged = fc
      .tuple(text, fc.integer({ min: 0, max: 400 }))
      .map(([said, pad]) => `${'<b>x</b>'.repeat(pad)}${said}`);
    const json = fc.oneof(
      text.map((said) => ({ detail: said })),
      text.map((said) => ({ id: said })),
      text.map((said) => ({ [said]: [said] })),
      text.map((said) => ({ errors: [{ code: said, attr: said, detail: 'x' }] })),
      text.map((said) => [{ sku: { deep: [said] } }, said]),
    );
    const body = fc.oneof(
      tagged,
      json.map((value) => JSON.stringify(value)),
    );
    const status = fc.integer({ min: 100, max: 599 });
    fc.assert(
      fc.property(status, body, text, (code, content, location) => {
        const exchange = answer(code, content, { location, 'retry-after': location });
        for (const expectation of [CREATE, UPDATE]) {
          const shown = JSON.stringify(wary.outcomeOf(exchange, expectation));
          expect(shown).not.toContain(KEY.slice(8));
          expect(shown).not.toContain(OTHER);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('a hostile answer never makes the classification throw, whatever bytes it consists of', () => {
    const body = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.json().map((text) => text.slice(0, -1)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), body, (status, content) => {
        const outcome = wary.outcomeOf(answer(status, content), CREATE);
        if (!('detail' in outcome)) return;
        expect(outcome.detail.message.length).toBeLessThanOrEqual(400);
        expect(outcome.detail.message).not.toMatch(/\p{Cc}/u);
        expect(outcome.detail.message.isWellFormed()).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
