import { expect, test } from 'vitest';
import type { SentWrite } from '../../../src/domain/ports/target.ts';
import { setUpClient } from './client-setup.ts';
import { answerWith } from './scripted-server.ts';

const change = (id: number): SentWrite => ({
  operation: 'material.update',
  path: `/api/materials/${id}/`,
  body: '{"name":"Oak"}',
  idempotencyKey: `k-${id}`,
});
const listOf = (...etags: (string | number)[]) =>
  answerWith(200, {
    count: etags.length,
    next: null,
    results: etags.map((etag, at) => ({ id: at + 1, code: `M-${at}`, etag })),
  });
const ETAG = { requests: { ifMatch: 'etag' }, list: { etagAt: ['etag'] } };

async function setUp(profile: unknown) {
  const { server, client } = await setUpClient({ profile });
  const sent = () => server.requests.map(({ method, headers }) => [method, headers['if-match'] ?? null]);
  return { server, target: client.target, sent };
}

test('a change has the version of the list, which is read once for all changes', async () => {
  const { server, target, sent } = await setUp(ETAG);
  server.script(listOf('"a1"', 7), answerWith(200, { id: 1 }, { etag: '"a2"' }), answerWith(200, { id: 2 }));
  const first = target.send(change(1));
  await first;
  const second = await target.send(change(2));
  expect(second.outcome).toMatchObject({ kind: 'accepted' });
  expect(sent()).toEqual([
    ['GET', null],
    ['PATCH', '"a1"'],
    ['PATCH', '"7"'],
  ]);
});

test('the next change has the version of the last answer', async () => {
  const { server, target, sent } = await setUp(ETAG);
  server.script(
    listOf('"a1"'),
    answerWith(200, { id: 1 }, { etag: 'W/"a2"' }),
    answerWith(200, { id: 1 }, { etag: '"a3"' }),
  );
  await target.send(change(1));
  await target.send(change(1));
  expect(sent().slice(1)).toEqual([
    ['PATCH', '"a1"'],
    ['PATCH', 'W/"a2"'],
  ]);
});

test.each([412, 428])(
  'a version that is refused with %s is read again, and the change stays unconfirmed until then',
  async (status) => {
    const { server, target, sent } = await setUp(ETAG);
    server.script(listOf('"a1"'), answerWith(status, { detail: 'No.' }), listOf('"b1"'), answerWith(200, { id: 1 }));
    const refused = await target.send(change(1));
    expect(refused.outcome).toMatchObject({ kind: 'ambiguous', atWork: true, detail: { status } });
    expect((await target.send(change(1))).outcome).toMatchObject({ kind: 'accepted' });
    expect(sent()).toEqual([
      ['GET', null],
      ['PATCH', '"a1"'],
      ['GET', null],
      ['PATCH', '"b1"'],
    ]);
  },
);

test('a list without versions is read once, however many changes there are', async () => {
  const { server, target, sent } = await setUp(ETAG);
  server.script(
    answerWith(200, { count: 1, next: null, results: [{ id: 1, code: 'M' }] }),
    answerWith(200, { name: 'Oak' }),
  );
  for (let at = 1; at <= 3; at += 1) await target.send(change(at));
  expect(sent()).toEqual([['GET', null], ...Array.from({ length: 3 }, () => ['PATCH', null])]);
});

test('a profile can send a star, or nothing, and a 428 names the setting', async () => {
  const star = await setUp({ requests: { ifMatch: 'any' } });
  star.server.script(answerWith(200, { id: 1 }));
  await star.target.send(change(1));
  expect(star.sent()).toEqual([['PATCH', '*']]);

  const none = await setUp({});
  none.server.script(answerWith(428, { detail: 'No version.' }));
  const { outcome } = await none.target.send(change(1));
  expect(none.sent()).toEqual([['PATCH', null]]);
  expect(outcome).toMatchObject({
    kind: 'refused',
    detail: { message: expect.stringContaining('`requests.ifMatch`') as string },
  });
});
