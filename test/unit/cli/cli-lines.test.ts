import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withOwnCommands } from '../../../src/cli/own-command.ts';
import { runLines } from '../../../src/cli/source/sync.ts';
import { fit } from '../../../src/cli/text/output.ts';
import { itemLines } from '../../../src/cli/text/standing.ts';
import { createPaint, shortenMiddle } from '../../../src/cli/text/style.ts';
import { type Column, formatTable } from '../../../src/cli/text/table.ts';

const paint = createPaint(false);

describe('a command in a text', () => {
  const own = (text: string, configFile: string | null = 'my shop.yaml') =>
    withOwnCommands(text, () => ({ command: 'npm run -s dpp-sync --', configFile }));

  it('a command in a text is the one that the reader can paste', () => {
    expect(own('Run `dpp-sync show product A-1`.')).toBe(
      "Run `npm run -s dpp-sync -- -c 'my shop.yaml' show product A-1`.",
    );
    expect(own('Run dpp-sync sync, then dpp-sync status.', null)).toBe(
      'Run npm run -s dpp-sync -- sync, then npm run -s dpp-sync -- status.',
    );
  });

  it('a command in a text is found also if it has a colour', () => {
    expect(own(createPaint(true)('cyan', 'dpp-sync sync erp'), null)).toBe(
      createPaint(true)('cyan', 'npm run -s dpp-sync -- sync erp'),
    );
  });

  it('a command in a text names no config where the command reads none', () => {
    expect(own('dpp-sync init --from FILE')).toBe('npm run -s dpp-sync -- init --from FILE');
  });

  it.each([
    'of this dpp-sync only',
    '"dpp-sync start" (process 7)',
    'dpp-sync synchronises',
    'node_modules/dpp-sync sync',
  ])('a text without a command is left alone: %j', (text) => {
    expect(own(text)).toBe(text);
  });
});

describe('a line in a narrow terminal', () => {
  it('a line in a narrow terminal is divided between words, and continues below its text', () => {
    expect(fit('  state      blocked, and a person decides about it', 30)).toEqual([
      '  state      blocked, and a',
      '             person decides',
      '             about it',
    ]);
    expect(fit('error: one two three', 12)).toEqual(['error: one', '  two three']);
    expect(fit('one two three', 8)).toEqual(['one two', 'three']);
  });

  it('a line in a narrow terminal keeps a command in one piece', () => {
    const command = 'dpp-sync -c my.yaml items --state blocked';
    expect(fit(`Which ones: ${command}, or ask`, 30)).toEqual(['Which ones:', `${command},`, 'or ask']);
    expect(fit('Look, then run `dpp-sync settle --ignore A-1`.', 35)).toEqual([
      'Look, then run',
      '`dpp-sync settle --ignore A-1`.',
    ]);
  });

  it.each([
    'npm run -s dpp-sync -- -c my.yaml quarantine',
    "node src/launcher.mjs -c 'my shop.yaml' quarantine --out quarantine.csv",
    "'/my bin/dpp-sync' quarantine",
    "node_modules/.bin/dpp-sync show product 'A 1'",
    createPaint(true)('cyan', 'dpp-sync show passport A-1'),
  ])('a line in a narrow terminal keeps a command at its end in one piece: %j', (command) => {
    expect(fit(`  Which and why: ${command}`, 20).at(-1)?.trimStart()).toBe(command);
    expect(fit(`      ${command}`, 20)).toHaveLength(1);
  });

  it('a line in a narrow terminal counts no colours', () => {
    const line = createPaint(true)('red', 'a red line');
    expect(fit(line, 10)).toEqual([line]);
  });

  it('a line in a narrow terminal loses no word', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'bc', ' ', '-', '`', '✗') }), fc.nat(20), (text, width) => {
        const words = (line: string) => line.split(/\s+/).filter((word) => word !== '');
        expect(words(fit(text, width).join(' '))).toEqual(words(text));
      }),
    );
  });
});

describe('a table in a narrow terminal', () => {
  const columns: Column[] = [{ title: 'key', cut: 'middle' }, { title: 'count', align: 'right' }, { title: 'reason' }];
  const rows = [['4711-a-long-key-of-an-item-0001', 12, 'The platform refused it because its name is taken.']];

  it('a table in a narrow terminal shortens keys in their middle and other text at its end', () => {
    const lines = formatTable(columns, rows, { paint, width: 50 });
    expect(lines[1]).toBe('  4711-a-long…n-item-0001     12  The platform re…');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(50);
    expect(formatTable(columns, rows, { paint, width: 30 })[1]).toBe('  4711…001     12  The platfo…');
  });

  it('a table in a narrow terminal never cuts the text of its last column where people copy that', () => {
    const withUrl: Column[] = [
      { title: 'key', cut: 'middle' },
      { title: 'url', whole: true },
    ];
    const url = 'https://passport.example.com/passports/0f8fad5b';
    expect(formatTable(withUrl, [['A-1', url]], { paint, width: 30 })[1]).toBe(`  A-1  ${url}`);
  });

  it('a table has its full text where no terminal shows it', () => {
    const [, line] = formatTable([{ title: 'key', max: 10 }, ...columns.slice(1)], rows, { paint, width: null });
    expect(line).toContain('4711-a-long-key-of-an-item-0001');
    expect(line).toContain('because its name is taken.');
  });

  it('a table in a narrow terminal has a line for each state where there are many', () => {
    const many = { delivered: 1, due: 2, sending: 3, waiting: 4, in_doubt: 5, blocked: 6, rejected: 7, parked: 8 };
    const items = { product: many, material: {}, bom_item: { superseded: 1 } };
    expect(itemLines(items, { paint, width: null })).toHaveLength(4);
    const lines = itemLines(items, { paint, width: 60 });
    expect(lines).toHaveLength(10);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  });

  it('a table of runs keeps times whole, and gives the counts of a run as text where their table is too wide', () => {
    const withTime: Column[] = [{ title: 'last run', fixed: true }, { title: 'result' }];
    const [, line] = formatTable(withTime, [['2026-01-31 02:30:00', 'complete, 357 read in 266 ms']], {
      paint,
      width: 40,
    });
    expect(line).toBe('  2026-01-31 02:30:00  complete, 357 re…');
    const account = {
      read: 8,
      unchanged: 8,
      changed: 0,
      quarantined: 0,
      excluded: 0,
      missing: 0,
      guarded: null,
      missedByChanges: 0,
      warnings: [],
    };
    const runs = [{ source: 'erp', stream: 'products', ...account }];
    expect(runLines({ runs }, { paint, width: 80 })).toHaveLength(2);
    expect(runLines({ runs }, { paint, width: 60 })).toEqual([
      '  erp/products  8 read, 8 unchanged, 0 changed, 0 with an error, 0 excluded, 0 missing',
    ]);
  });

  it('a text is cut in its middle to the length that is asked for', () => {
    expect([9, 5, 4, 2, 1].map((length) => shortenMiddle('abcdefgh', length))).toEqual([
      'abcdefgh',
      'ab…gh',
      'ab…h',
      'a…',
      '…',
    ]);
  });
});
