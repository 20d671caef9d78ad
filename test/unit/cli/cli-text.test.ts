import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failureDocument, failureLines, failureOf } from '../../../src/cli/errors.ts';
import { attentionLines } from '../../../src/cli/text/attention.ts';
import { createPaint, formatDuration, formatLogLine, printable, wantsColour } from '../../../src/cli/text/style.ts';
import { formatTable } from '../../../src/cli/text/table.ts';
import { fault } from '../../../src/domain/faults.ts';
import type { Attention } from '../../../src/domain/ports/ledger/ledger-standing.ts';
import { formatCount } from '../../../src/lib/text/amounts.ts';
import { armFormula, defuseFormula } from '../../../src/lib/text/safe-text.ts';

describe('values in a spreadsheet', () => {
  it.each(['=1+1', '+cmd', '@SUM(A1)', '-2+3', '\t=1', '\r=1', "'=1", '=cmd|1'])(
    'a file for a spreadsheet has %j as text',
    (value) => {
      expect(defuseFormula(value)).toBe(`'${value}`);
    },
  );

  it.each(['', '-12,5', '+49 30 123', '1.234,56', '00123', 'A=B', "'quoted'", 'a-b'])(
    'a file for a spreadsheet keeps %j',
    (value) => {
      expect(defuseFormula(value)).toBe(value);
    },
  );

  it('a value in a spreadsheet never begins a formula, and can be restored', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('=', '+', '-', '@', "'", 'a', '1', ',', '\t') }), (value) => {
        const cell = defuseFormula(value);
        if (/^[=+\-@\t]/.test(cell)) expect(cell).toMatch(/^[+-]?[\d., ']*$/);
        expect(armFormula(cell)).toBe(value);
      }),
    );
  });
});

describe('text on a terminal', () => {
  it('text on a terminal shows control characters in place of obeying them', () => {
    expect(printable('a\u001b[2Jb\nc\u202ed')).toBe('a\\u001b[2Jb⏎c\\u202ed');
    // oxlint-disable-next-line no-control-regex
    const control = /[\u0000-\u001f\u007f]/;
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(control);
      }),
    );
  });

  it('text has colours on a terminal alone, and not where people do not want them', () => {
    expect(wantsColour({ isTTY: true }, {})).toBe(true);
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '' })).toBe(true);
    expect(wantsColour({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
    expect(wantsColour({}, {})).toBe(false);
  });

  it('text on a terminal counts with a comma after every three digits', () => {
    expect([0, 999, 1000, 12_345, 1_234_567].map(formatCount)).toEqual(['0', '999', '1,000', '12,345', '1,234,567']);
  });

  it('text on a terminal lines columns up, whatever their colours', () => {
    const rows = [
      ['a', { text: '1', colour: 'red' as const }],
      ['long\nname', 12_345],
    ];
    const columns = [{ title: 'name' }, { title: 'count', align: 'right' as const }];
    expect(formatTable(columns, rows, { paint: createPaint(false), width: null })).toEqual([
      '  name        count',
      '  a               1',
      '  long⏎name  12,345',
    ]);
  });

  it('text on a terminal gives durations in the unit that fits', () => {
    expect([999, 1500, 61_000, 3_700_000].map(formatDuration)).toEqual(['999 ms', '1.5 s', '1 min 1 s', '1 h 1 min']);
  });

  it('text on a terminal shows a line of the log', () => {
    const line = JSON.stringify({ level: 40, time: 'now', source: 'erp', count: 2, msg: 'It is late.' });
    expect(formatLogLine(line)).toBe('warn: It is late. (source=erp, count=2)');
  });
});

describe('what needs a person', () => {
  const told = (product: Record<string, number>, awaitingReadBack = 0, stuck: Attention['stuck'] = []) =>
    attentionLines(
      {
        items: { product, material: {}, bom_item: {} },
        passports: {},
        otherForms: [],
        quarantined: 0,
        guarded: [],
        held: [],
        failedRuns: [],
        suspended: [],
        refused: [],
        missing: {},
        missingOutcomes: [],
        paddedKeys: [],
        formerSources: [],
      },
      {
        waitingFor: [],
        stuck,
        awaitingReadBack: { count: awaitingReadBack, nextLookAt: null },
        duplicates: { count: 0, whole: 0, examples: [] },
        adopted: [],
        parts: { products: 0, bomItems: 0 },
        unproven: [],
      },
      createPaint(false),
    ).join('\n');

  it('a reason that many items have is shown once, with their number', () => {
    const reason = { code: 'gate', message: 'The platform says why.' } as const;
    const common = { id: 1, kind: 'product', revision: 1, naturalKey: null, source: 'erp', state: 'blocked' } as const;
    const item = { ...common, operation: 'product.create', reason } as const;
    const lines = told({ blocked: 7 }, 0, [
      { ...item, key: 'A', count: 6 },
      { ...item, key: 'B', count: 1, reason: { code: 'gate', message: 'Another reason.' } },
    ]).split('\n');
    expect(lines.slice(1, 4)).toEqual([
      '  product A is blocked: The platform says why.',
      '    5 more have the same reason.',
      '  product B is blocked: Another reason.',
    ]);
  });

  it('the states that need a person are listed, and no other', () => {
    expect(told({ delivered: 3, in_doubt: 2 })).toMatch(
      /2 items need a person:\n.*All that are sent, no answer yet: dpp-sync items --state in_doubt$/,
    );
    expect(told({ rejected: 1, blocked: 2 })).toMatch(
      /: dpp-sync items --state blocked\n.*: dpp-sync items --state rejected$/,
    );
    expect(told({ delivered: 3, waiting: 1, due: 1 })).toBe('');
    expect(told({ in_doubt: 2 }, 2)).toBe('');
    expect(told({ rejected: 1, in_doubt: 3 }, 3)).toMatch(/^1 item needs .*\n.*items --state rejected$/);
    expect(told({ rejected: 1, in_doubt: 1 }, 2)).toMatch(/^1 item needs .*\n.*items --state rejected$/);
    expect(told({ in_doubt: 3 }, 1)).toMatch(/^2 items need .*\n.*items --state in_doubt$/);
  });
});

describe('failures', () => {
  it('failures name code, path, message and suggestion once each', () => {
    const failure = failureOf(
      fault('api.key', 'The key is refused.', { path: 'target.apiKey', suggestion: 'Fix it.' }),
    );
    expect(failure.exitCode).toBe(3);
    expect(failureDocument(failure)).toEqual({
      ok: false,
      error: { code: 'api.key', path: 'target.apiKey', message: 'The key is refused. Fix it.' },
    });
    expect(failureLines(failure)).toEqual([
      'error: The key is refused.',
      '  in the config: target.apiKey',
      '  Fix it.',
    ]);
    const told = failureOf(fault('config.invalid', 'queue: wrong. Fix it.', { path: 'queue', suggestion: 'Fix it.' }));
    expect(failureLines(told)).toEqual(['error: queue: wrong. Fix it.']);
  });

  it('failures that nobody foresaw end with 1, without a stack', () => {
    const failure = failureOf(new TypeError('x is not a function'));
    expect(failure).toMatchObject({ exitCode: 1, code: 'internal', path: null });
    expect(failureLines(failure).join('\n')).not.toContain(' at ');
  });
});
