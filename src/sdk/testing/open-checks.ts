import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { FoundColumns, StreamLook } from '../connector.ts';
import { PAGE_ROWS_MAX } from '../page-buffer.ts';
import {
  assertSameRows,
  assertSourceFault,
  type CheckMaker,
  errorOf,
  type LargeSource,
  rowsOf,
  type SourceUnderTest,
  STREAM,
  sourceUnderTest,
  withMade,
} from './source-under-test.ts';

const ROWS = 3_000;
/** More rows than a read could have taken ahead. */
const MANY_ROWS = 20_000;

/** Checks what a run does with a source while it is open. */
export const openChecks: CheckMaker = (connector, { folder, samples, unreachable, large }) => {
  const onLarge = (
    name: string,
    rows: number,
    run: (source: SourceUnderTest, settings: LargeSource) => Promise<void>,
  ) => ({
    name,
    run: () =>
      withMade(
        (at) => large(rows, at),
        (settings, at) => run(sourceUnderTest({ connector, folder: at, settings }), settings),
      ),
  });
  return [
    onLarge('gives a stream again while the source is open', ROWS, (source) =>
      source.whileOpen(async (opened) => {
        await opened.check();
        for await (const page of opened.pages()) if (page.rows.length > 0) break;
        const first = await opened.rows();
        assert.equal(first.length, ROWS, 'A read after a check and a read that was left lacks rows.');
        assertSameRows(await opened.rows(), first, 'A second read of an open source differs.');
      }),
    ),
    onLarge('checks a large source without reading all of it', MANY_ROWS, async (source, settings) => {
      await source.check();
      const read = settings.given?.() ?? 0;
      assert.ok(read <= 2 * PAGE_ROWS_MAX, `The check has read ${read} rows.`);
    }),
    {
      name: 'names the columns that its rows have',
      async run() {
        for (const settings of samples) {
          const source = sourceUnderTest({ connector, folder, settings });
          const { columns = [] } = await source.check();
          const rows = await source.rows();
          const members = new Set(rows.flatMap(({ fields }) => Object.keys(fields)));
          const unknown = rows.length === 0 ? [] : columns.filter((name) => !members.has(name));
          assert.deepEqual(unknown, [], `${settings.about}: \`check\` names columns that no row has.`);
          if (connector.fixedColumns === true) await assertColumns(source, settings.about);
        }
      },
    },
    onLarge('takes nothing away before its rows are stored', ROWS, async (source) => {
      const acknowledge = (streams: readonly string[]): Promise<void> =>
        source.whileOpen(async (opened) => {
          await opened.rows();
          await opened.acknowledge(streams);
        });
      await acknowledge([]);
      const left = (await source.rows()).length;
      assert.equal(left, ROWS, 'Rows of a stream are gone that the guard holds: `acknowledge` got no name.');
      await acknowledge([STREAM]);
    }),
    {
      name: 'looks at a source, and sees what makes a read give other rows',
      async run() {
        for (const settings of samples) {
          const source = sourceUnderTest({ connector, folder, settings });
          const first = await lookAt(source);
          if (first === null) return;
          assert.equal((await lookAt(source))?.facts, first.facts, `${settings.about}: the facts of two looks differ.`);
        }
        const nowhere = sourceUnderTest({ connector, folder, settings: unreachable });
        const found = await lookAt(nowhere).catch((error: unknown) => ({ error }));
        if (found !== null && 'error' in found) assertSourceFault(found.error, '`look` of a source that is not there');
        let damages = 1;
        for (let at = 0; at < damages; at++) {
          await withMade(
            (made) => large(ROWS, made),
            async (made, own) => {
              damages = made.damages.length;
              const damage = made.damages[at];
              assert.ok(damage !== undefined, '`large` names at least one damage.');
              const source = sourceUnderTest({ connector, folder: own, settings: made });
              const before = [await source.rows(), await lookAt(source)] as const;
              await damage.now();
              const rows = await source.rows().catch(() => null);
              const facts = await lookAt(source).then(
                (look) => look?.facts ?? null,
                () => null,
              );
              const isSeen = facts === null || facts !== before[1]?.facts;
              assert.ok(isSeen || isDeepStrictEqual(rows, before[0]), `When ${damage.about}, the facts stay the same.`);
            },
          );
        }
      },
    },
  ];
};

/** A look that can be used: with facts or without. Null if the connector cannot look. */
async function lookAt(source: SourceUnderTest): Promise<StreamLook | null> {
  const look = await source.whileOpen((opened) => opened.look());
  if (look === null) return null;
  const { facts, againMs } = look as { facts: unknown; againMs: unknown };
  assert.ok(facts === null || (typeof facts === 'string' && facts !== ''), '`facts` is a text, or null.');
  assert.ok(
    Number.isFinite(againMs) && Number(againMs) > 0,
    `\`againMs\` is a time in milliseconds: ${String(againMs)}`,
  );
  return look;
}

/** Each row has the columns that were named last before it, and no others, because mappings are compared with these columns. */
async function assertColumns(source: SourceUnderTest, about: string): Promise<void> {
  let named: readonly string[] | null = null;
  const onColumns = ({ names }: FoundColumns): void => void (named = names.toSorted());
  for await (const page of source.pages({ onColumns })) {
    for (const { fields, issues = [] } of page.rows) {
      if (named === null || issues.length > 0) continue;
      assert.deepEqual(
        Object.keys(fields).toSorted(),
        named,
        `${about}: a row has other columns than those that were named.`,
      );
    }
  }
  if (named === null) return;
  const reason = new Error('The check refuses the columns.');
  const refuse = (): never => {
    throw reason;
  };
  const refused = await errorOf(
    rowsOf(source.pages({ onColumns: refuse })),
    `${about}: a read whose columns are refused`,
  );
  assert.equal(refused, reason, `${about}: the error of \`onColumns\` has to reach the caller.`);
}
