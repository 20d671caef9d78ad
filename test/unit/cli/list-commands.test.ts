// The commands that list items and rows in quarantine, over pages that are given.

import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../../src/cli/context.ts';
import { addItemsCommand } from '../../../src/cli/items.ts';
import { addQuarantineCommand } from '../../../src/cli/source/quarantine.ts';
import { createOutput } from '../../../src/cli/text/output.ts';
import type { ListPage } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

interface Given {
  /** The ids of each page. */
  pages: number[][];
  /** The total of a page that counts. */
  total?: { count: number; atLeast: boolean };
}

const item = (id: number) => ({
  id,
  kind: 'product',
  key: `P${id}`,
  naturalKey: null,
  name: null,
  source: 'erp',
  state: 'delivered',
  missing: false,
  held: false,
  remoteId: null,
  reason: null,
  since: null,
});
const record = (id: number) => ({
  id,
  source: 'erp',
  stream: 'rows',
  key: `R${id}`,
  place: { file: 'rows.csv', line: id },
  fields: { id: String(id) },
  issues: [],
});

/** Runs a command over these pages. Returns what it printed, and the pages that it asked for. */
async function run(line: string, { pages, total = { count: 0, atLeast: true } }: Given) {
  const asked: ListPage[] = [];
  const listOf =
    <Row>(row: (id: number) => Row) =>
    async (_: unknown, page: ListPage) => {
      asked.push(page);
      const at = Number(page.after ?? 0);
      const rows = (pages[at] ?? []).slice(0, page.limit).map(row);
      return { rows, next: at + 1 < pages.length ? String(at + 1) : null, total };
    };
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const json = line.includes('--json');
  const options = { env: {}, secrets: createSecretStore(), json, quiet: false };
  const output = createOutput({
    ...options,
    stdout,
    stderr,
    ownStart: () => ({ command: 'dpp-sync', configFile: null }),
  });
  const context = {
    output,
    loadConfig: async () => ({ sources: [] }),
    withViews: async (_: unknown, look: (opened: unknown) => Promise<number>) =>
      look({ reads: { items: listOf(item), quarantine: listOf(record), passportsOf: async () => new Map() } }),
  } as unknown as CommandContext;
  const program = new Command();
  for (const add of [addItemsCommand, addQuarantineCommand]) {
    add(program, async (action) => {
      await action(context);
    });
  }
  for (const command of program.commands) command.option('--json');
  await program.parseAsync(line.split(' '), { from: 'user' });
  return { stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? ''), asked };
}

const keysOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((one) => (JSON.parse(one) as { key: string }).key);

it.each(['items', 'items --json', 'quarantine', 'quarantine --json'])(
  '%s does not count the list at each page',
  async (line) => {
    const { asked } = await run(line, { pages: [[1, 2], [3]] });
    expect(asked).toHaveLength(2);
    expect(asked.every(({ counts }) => counts === false)).toBe(true);
  },
);

it('items says that there are more items only if there are more', async () => {
  expect((await run('items --limit 2', { pages: [[1, 2], []] })).stderr).toBe('');
  expect((await run('items --limit 2', { pages: [[1], [], [2], [], []] })).stderr).toBe('');
  const { stdout, stderr, asked } = await run('items --limit 2', { pages: [[1, 2], [], [3, 4], [5]] });
  expect(stderr).toContain('There are more items: --limit 20');
  expect(stdout.match(/P\d/g)).toEqual(['P1', 'P2']);
  expect(asked.map(({ limit }) => limit)).toEqual([3, 1, 1]);
});

it('items gives an item once that changed its state between two pages', async () => {
  const pages = [[1, 2], [2, 3], [1]];
  expect(keysOf((await run('items --json --state open', { pages })).stdout)).toEqual(['P1', 'P2', 'P3']);
});

it('quarantine counts once, and only if it does not show all', async () => {
  const some = await run('quarantine --limit 2', { pages: [[1, 2], [3]], total: { count: 7, atLeast: false } });
  expect(some.stderr).toContain('… and 5 records more');
  expect(some.asked.map(({ counts }) => counts)).toEqual([false, undefined]);
  expect((await run('quarantine --limit 3', { pages: [[1, 2], [3]] })).asked).toHaveLength(2);
});

it.each([
  ['was not counted to its end', { count: 2, atLeast: true }],
  ['became shorter meanwhile', { count: 1, atLeast: false }],
])('quarantine says no number of records that %s', async (_, total) => {
  const { stderr } = await run('quarantine --limit 2', { pages: [[1, 2], [3]], total });
  expect(stderr).toContain('There are more records');
  expect(stderr).not.toContain('-1');
});
