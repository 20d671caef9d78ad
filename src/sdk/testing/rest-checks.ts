import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Connector } from '../connector.ts';
import { EXACT_MEMBER } from './rest-answer-traps.ts';
import type { RestFixtures } from './rest-api.ts';
import { EXACT } from './rest-behaviour.ts';
import { changesChecks } from './rest-changes.ts';
import { assertOnce, cleanRead, type Kit, kitOf } from './rest-kit.ts';
import { recordingChecks } from './rest-recorded.ts';
import type { ApiServer } from './rest-server.ts';
import { SENTENCES, type Trap } from './rest-trap.ts';
import { TRAPS } from './rest-traps.ts';
import { secretMarkCheck } from './secret-marks.ts';
import { assertSourceFault, type ConnectorCheck } from './source-under-test.ts';

/**
 * The checks of a connector for a REST API, as named checks for any test runner. A server on this machine takes the place of the
 * API. It has the recorded rows, and does what real systems do to a reader. A read has to give each row once, or to fail.
 *
 * ```ts
 * for (const { name, run } of restChecks(connector, fixtures)) test(name, run);
 * ```
 */
export function restChecks<Options, StreamOptions>(
  connector: Connector<Options, StreamOptions>,
  fixtures: RestFixtures,
): ConnectorCheck[] {
  const kit = kitOf(connector as unknown as Connector, fixtures);
  const traps = TRAPS.filter(({ without }) => without(fixtures.api) === null);
  return [
    secretMarkCheck(connector as unknown as Connector),
    ...recordingChecks(fixtures),
    { name: 'gives each row once', run: () => kit.withServer((server) => assertWhole(kit, server)) },
    ...(['none', 'bulkJob'].includes(fixtures.api.page.by)
      ? []
      : [{ name: 'reads a list of many pages to its end', run: () => assertManyPages(kit) }]),
    ...traps.map((trap) => ({
      name: `${SENTENCES[trap.verdict]}: ${trap.title}`,
      run: () => kit.withServer((server) => assertTrap(kit, server, trap)),
    })),
    ...changesChecks(kit),
  ];
}

/** The checks that do not apply to an API, each with the reason. */
export function restChecksLeftOut({ api }: Pick<RestFixtures, 'api'>): { title: string; reason: string }[] {
  return TRAPS.flatMap(({ title, without }) => {
    const reason = without(api);
    return reason === null ? [] : [{ title, reason }];
  });
}

async function assertWhole(kit: Kit, server: ApiServer): Promise<void> {
  const { rows } = await cleanRead(kit, server);
  const expected = kit.rows.length;
  // The rows of a stream with `each` come from other answers.
  if (kit.fixtures.api.answer === undefined && !kit.hasOtherAnswers)
    assert.equal(rows.length, expected, `The server has ${expected} rows, and the read gives ${rows.length}.`);
  const paged = !['none', 'bulkJob'].includes(kit.fixtures.api.page.by);
  assert.ok(
    !paged || server.pages() >= 3,
    'The rows fit on fewer than three pages. Give more rows, or a smaller page.',
  );
}

const MANY_PAGES = 130;

/** A limit of pages that a reader has must not look like the end. */
async function assertManyPages(kit: Kit): Promise<void> {
  let pages = 0;
  let count = 0;
  await kit.withServer(async (server) => {
    const { rows } = await cleanRead(kit, server);
    count = rows.length;
    pages = server.pages();
  });
  // The last page may have no rows, and pages may overlap.
  const times = Math.ceil(MANY_PAGES / Math.max(1, pages - 2));
  const many = Array.from({ length: times }, (_, number) =>
    kit.rows.map((row) => (number === 0 ? row : kit.copy(row, number))),
  ).flat();
  await kit.withServer(async (server) => {
    const { rows, error } = await kit.read(server);
    if (error !== null) return assertSourceFault(error, 'A read of many pages');
    assert.ok(server.pages() >= MANY_PAGES || rows.length < count * times, 'The list has too few pages.');
    assert.equal(rows.length, count * times, `A list of ${count * times} rows ends as complete after ${rows.length}.`);
  }, many);
}

async function assertTrap(kit: Kit, server: ApiServer, trap: Trap): Promise<void> {
  const { api } = kit.fixtures;
  const before = await cleanRead(kit, server);
  server.behave(trap.behaviour({ api, copy: kit.copy }));
  const outcome = await kit.read(server);
  const what = `When ${trap.title}, the read`;
  if (outcome.error !== null) {
    if (trap.verdict === 'whole') throw outcome.error;
    return assertSourceFault(outcome.error, what);
  }
  assertOnce(outcome, what);
  if (trap.verdict === 'fault') {
    assert.fail(
      `${what} ends as complete, with ${outcome.rows.length} rows in place of ${before.rows.length}. ${trap.cure}`,
    );
  }
  trap.settle?.(server.rows);
  const after = await cleanRead(kit, server);
  for (const [key, fields] of before.byKey) {
    if (!isDeepStrictEqual(after.byKey.get(key), fields)) continue;
    const found = outcome.byKey.get(key);
    assert.ok(
      found !== undefined,
      `${what} ends as complete, and lacks ${key} and perhaps others: ${outcome.byKey.size} rows in place of ${before.byKey.size}. ${trap.cure}`,
    );
    const { [EXACT_MEMBER]: exact = EXACT, ...rest } = found;
    assert.equal(
      exact,
      EXACT,
      `${what} gives another number in place of ${EXACT}: ${JSON.stringify(exact)}. ${trap.cure}`,
    );
    assert.deepEqual(rest, fields, `${what} gives other values for ${key}.`);
  }
  for (const key of outcome.byKey.keys()) {
    assert.ok(before.byKey.has(key) || after.byKey.has(key), `${what} gives a row that the server never had: ${key}.`);
  }
}
