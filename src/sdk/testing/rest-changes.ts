import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../lib/json.ts';
import type { RestApi } from './rest-api.ts';
import type { Behaviour } from './rest-behaviour.ts';
import { cleanRead, type Kit, type Outcome } from './rest-kit.ts';
import type { ApiServer } from './rest-server.ts';
import { SENTENCES } from './rest-trap.ts';
import { TRAPS } from './rest-traps.ts';
import { assertSourceFault, type ConnectorCheck } from './source-under-test.ts';

const LATE_MS = 60_000;

/** Checks the reads of changes of a stream that has them. */
export function changesChecks(kit: Kit): ConnectorCheck[] {
  if (!kit.givesChanges) return [];
  const { api } = kit.fixtures;
  assert.ok(api.changes !== undefined, 'The stream gives changes, so give `changes` of `api`.');
  const ofChanges: RestApi = { ...api, page: api.changes.page ?? api.page };
  const isLink = api.changes.deltaLink !== undefined;
  const check: MakeCheck = (name, run) => ({ name, run: () => kit.withServer(run) });
  return [
    check('the changes have each row that has changed since the snapshot', async (server) => {
      const before = await cleanRead(kit, server);
      changeMany(kit, server);
      const changes = await readChanges(kit, server, cursorOf(before), {});
      await assertHasChanged(kit, server, { before, changes, what: 'The read of changes' });
    }),
    check('the changes have a row that has changed while the snapshot was read', async (server) => {
      await cleanRead(kit, server);
      server.behave({
        before: (page, rows) => page === (api.page.by === 'none' ? 1 : 2) && rows.change(0, kit.change),
      });
      const before = await kit.read(server);
      if (before.error !== null) throw before.error;
      server.behave({});
      const changes = await readChanges(kit, server, cursorOf(before), {});
      const what = 'The read of changes after a snapshot during which a row has changed';
      await assertHasChanged(kit, server, { before, changes, what });
    }),
    check('a later read of changes begins where the last one began or ended', async (server) => {
      const before = await cleanRead(kit, server);
      changeMany(kit, server);
      const first = await readChanges(kit, server, cursorOf(before), {});
      if (first.error !== null) throw first.error;
      const middle = await cleanRead(kit, server);
      server.rows.change(server.rows.there().length - 1, kit.change);
      const second = await readChanges(kit, server, cursorOf(first), {});
      await assertHasChanged(kit, server, { before: middle, changes: second, what: 'The second read of changes' });
    }),
    ...(api.changes.gone === undefined
      ? []
      : [
          check('the changes say that a record is gone', async (server) => {
            const before = await cleanRead(kit, server);
            server.rows.remove(1);
            const changes = await readChanges(kit, server, cursorOf(before), {});
            if (changes.error !== null) throw changes.error;
            const after = await cleanRead(kit, server);
            const gone = [...before.byKey.keys()].filter((key) => !after.byKey.has(key));
            const said = changes.rows.filter(({ isGone }) => isGone === true).length;
            assert.equal(
              said,
              gone.length,
              `${gone.length} records are gone, and the changes have ${said} tombstones.`,
            );
          }),
        ]),
    ...(isLink ? linkChecks(kit, check) : [lateCheck(kit, check)]),
    ...TRAPS.filter(({ inChanges, without }) => inChanges === true && without(ofChanges) === null).map((trap) =>
      check(`the changes: ${SENTENCES[trap.verdict]}: ${trap.title}`, async (server) => {
        const before = await cleanRead(kit, server);
        changeMany(kit, server);
        const changes = await readChanges(
          kit,
          server,
          cursorOf(before),
          trap.behaviour({ api: ofChanges, copy: kit.copy }),
        );
        if (trap.verdict === 'whole' && changes.error !== null) throw changes.error;
        const what = `When ${trap.title}, the read of changes`;
        await assertHasChanged(kit, server, { before, changes, what, cure: trap.cure });
      }),
    ),
  ];
}

type MakeCheck = (name: string, run: (server: ApiServer) => Promise<void>) => ConnectorCheck;

/** Databases show a change when it is complete, and its time is that of its beginning. */
function lateCheck(kit: Kit, check: MakeCheck): ConnectorCheck {
  return check('the changes have a row that has changed before the snapshot and was shown after it', async (server) => {
    const before = await cleanRead(kit, server);
    server.rows.change(0, kit.change, server.begun() - LATE_MS);
    const changes = await readChanges(kit, server, cursorOf(before), {});
    await assertHasChanged(kit, server, {
      before,
      changes,
      what: `The read of changes after a change that the server shows ${LATE_MS / 1_000} seconds late`,
      cure: 'Ask for changes since a time that lies some minutes before the last read.',
    });
  });
}

function linkChecks(kit: Kit, check: MakeCheck) {
  const lost: Behaviour = {
    edit(parts) {
      parts.deltaSince = null;
    },
  };
  return [
    check('a snapshot without a delta link gives no cursor that skips changes', async (server) => {
      await cleanRead(kit, server);
      server.behave(lost);
      const before = await kit.read(server);
      if (before.error !== null) return assertSourceFault(before.error, 'A snapshot without a delta link');
      changeMany(kit, server);
      const cursor = before.pages.at(-1)?.cursor;
      if (cursor === undefined) return;
      const changes = await readChanges(kit, server, cursor, {});
      await assertHasChanged(kit, server, { before, changes, what: 'The read after a snapshot without a delta link' });
    }),
    check('changes whose last page has no delta link begin again, or fail', async (server) => {
      const before = await cleanRead(kit, server);
      changeMany(kit, server);
      const changes = await readChanges(kit, server, cursorOf(before), lost);
      assertNotOver(changes, before, 'Changes without a delta link');
    }),
    ...[410, 404].map((status) =>
      check(
        `a delta link that the server does not know any more (${status}) begins again, or fails`,
        async (server) => {
          const before = await cleanRead(kit, server);
          changeMany(kit, server);
          const changes = await readChanges(kit, server, cursorOf(before), { changesStatus: status });
          assertNotOver(changes, before, `Changes that are answered with ${status}`);
        },
      ),
    ),
  ];
}

/** Changes four rows of five, so that the changes have several pages. */
function changeMany(kit: Kit, server: ApiServer): void {
  const { length } = server.rows.there();
  for (let at = 0; at < length; at += 1) if (at % 5 !== 0) server.rows.change(at, kit.change);
}

function cursorOf({ pages }: Outcome): JsonValue {
  const cursor = pages.at(-1)?.cursor;
  assert.ok(cursor !== undefined, 'The last page of a read has no cursor, from which changes are read.');
  return JSON.parse(JSON.stringify(cursor)) as JsonValue;
}

async function readChanges(kit: Kit, server: ApiServer, cursor: JsonValue, behaviour: Behaviour): Promise<Outcome> {
  server.behave(behaviour);
  return await kit.read(server, { mode: 'changes', cursor });
}

const beginsAgain = ({ pages }: Outcome): boolean => pages.some(({ beginAgain }) => beginAgain !== undefined);

/** Asserts that the changes have all rows that differ now, or that their read fails or begins again. */
async function assertHasChanged(
  kit: Kit,
  server: ApiServer,
  { before, changes, what, cure = '' }: { before: Outcome; changes: Outcome; what: string; cure?: string },
): Promise<void> {
  if (changes.error !== null) return assertSourceFault(changes.error, what);
  if (beginsAgain(changes)) return;
  const after = await cleanRead(kit, server);
  const differing = [...after.byKey].filter(([key, fields]) => !isDeepStrictEqual(before.byKey.get(key), fields));
  assert.ok(
    differing.length > 0,
    'No row differs after a change, so give `change`, which changes what the connector gives.',
  );
  for (const [key, fields] of differing) {
    const found = changes.byKey.get(key);
    assert.ok(
      found !== undefined,
      `${what} ends without the changed row ${key}: ${changes.byKey.size} rows in place of ${differing.length}. ${cure}`,
    );
    assert.deepEqual(found, fields, `${what} gives old values for ${key}.`);
  }
}

/** Asserts that changes which cannot be had are not over: the read fails, begins again, or keeps its cursor. */
function assertNotOver(changes: Outcome, before: Outcome, what: string): void {
  if (changes.error !== null) return assertSourceFault(changes.error, what);
  if (beginsAgain(changes)) return;
  const last = changes.pages.at(-1)?.cursor;
  assert.ok(
    last !== undefined && isDeepStrictEqual(last, cursorOf(before)) && changes.rows.length > 0,
    `${what} end as if nothing had changed. Give a page with \`beginAgain\`, so that a snapshot follows, or fail.`,
  );
}
