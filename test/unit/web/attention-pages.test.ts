import { describe, expect, it } from 'vitest';
import { columnsAtFault, type Issue } from '../../../src/domain/issue.ts';
import type { Cause, CauseMember } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { inboxPage } from '../../../src/web/pages/attention/attention-routes.ts';
import { entriesOf } from '../../../src/web/pages/attention/cause-entries.ts';
import { causePage } from '../../../src/web/pages/attention/cause-page.ts';
import { effectLine, titleText } from '../../../src/web/pages/attention/causes.ts';
import { outcomeText } from '../../../src/web/pages/tasks/outcome-text.ts';

const HOSTILE = '"><img src=x onerror=alert(1)>';
const REQUEST = { csrf: 'csrf-of-the-session' };

const CAUSE: Cause = {
  id: 'c0ffee',
  type: 'quarantine',
  source: 'erp',
  stream: 'products',
  title: 'The country of origin is not known.',
  meaning: 'The text is not the name or the code of a country.',
  cure: 'Correct the column HERKL.',
  command: 'dpp-sync sync erp',
  code: 'country.unknown',
  field: 'country_of_origin',
  count: 9,
  passportsHeld: 4,
  firstSeenAt: Date.UTC(2026, 10, 20),
  lastSeenAt: Date.UTC(2026, 10, 20),
  note: { text: HOSTILE, owner: 'Ada', by: 'token', at: 0 },
  example: HOSTILE,
  values: [],
  otherValues: 0,
};

const MEMBER: CauseMember = {
  record: {
    id: 1,
    source: 'erp',
    stream: 'products',
    key: 'A-1',
    place: { file: 'products.csv', line: 12 },
    fields: { SKU: 'A-1', HERKL: HOSTILE },
    issues: [
      {
        code: 'country.unknown',
        message: `${HOSTILE} is no country.`,
        field: 'country_of_origin',
        value: HOSTILE,
        expression: 'country(row.HERKL)',
      },
    ],
  },
  item: null,
  run: null,
};

const VIEW = {
  cause: CAUSE,
  shownUntil: Date.UTC(2026, 10, 20),
  members: { rows: [MEMBER], next: null, total: { count: 1, atLeast: false } },
  lookups: [],
  tried: null,
  hasRows: true,
  noUpload: null,
  mayEdit: true,
  mayDecide: true,
  query: new URLSearchParams(),
};

describe('the inbox', () => {
  it('the inbox says how many rows a cause has, and how many passports wait for it', () => {
    const said = (of: Partial<Cause>) =>
      effectLine({ ...CAUSE, stream: 'default', firstSeenAt: null, ...of }).markup.replaceAll(/<[^>]*>/g, '');
    expect(said({})).toBe('9 rows of erp. 4 passports wait for this.');
    expect(said({ count: 1, passportsHeld: 1 })).toBe('1 row of erp. 1 passport waits for this.');
    expect(said({ passportsHeld: 0 })).toBe('9 rows of erp. No passport waits for this.');
    expect(said({ type: 'run', count: 2, passportsHeld: null })).toBe(
      '2 runs of erp. How many passports wait for this is not known.',
    );
  });

  describe('the same fault in many sources', () => {
    const plants = Array.from({ length: 54 }, (_, at): Cause => {
      const values = [{ value: 'Atlantis', count: 2 }];
      return {
        ...CAUSE,
        id: `c${at}`,
        source: `plant-${at}`,
        stream: 'default',
        count: 2,
        passportsHeld: 1,
        note: null,
        values,
      };
    });
    const said = (causes: readonly Cause[]) => {
      const view = {
        causes,
        sources: [],
        parts: { products: 0, bomItems: 0 },
        filter: { source: '', type: '' },
        mayDecide: true,
      };
      return inboxPage(view, REQUEST).markup;
    };

    it('the same fault in many sources is one entry, with the figures of all, and a link to the cause of each', () => {
      const markup = said(plants);
      const words = markup.replaceAll(/<[^>]*>/g, '');
      expect(markup.match(/<li class="card cause"/g)).toHaveLength(1);
      expect(words).toContain('1 cause, those');
      expect(words).toContain('The country of origin is not known: “Atlantis” (108).');
      expect(words).toContain('108 rows of 54 sources. At most 54 passports wait for this.');
      expect(markup.match(/href="\/attention\/c\d+"/g)).toHaveLength(54);
      expect(words).toContain('plant-9 2 rowsplant-10 2 rows');
    });

    it('the same fault in many sources is another entry where somebody takes care of it, or the field is another one', () => {
      const [first = CAUSE, second = CAUSE, ...others] = plants;
      const noted = { ...first, note: { text: '', owner: 'Ada', by: 'token', at: 0 } };
      const found = entriesOf([...others, noted, { ...second, field: 'origin_country' }]);
      expect(found.map(({ causes }) => causes.length)).toEqual([52, 1, 1]);
    });

    it('the same fault in many sources is another entry where a cause is about no source, such as a refused scope', () => {
      const refused = plants
        .slice(0, 2)
        .map((cause) => ({ ...cause, type: 'api' as const, source: null, stream: null }));
      expect(entriesOf(refused)).toHaveLength(2);
    });

    it('the same fault in many sources keeps more passports than a cause that keeps fewer, or a number that is not known', () => {
      const other = { ...CAUSE, id: 'other', code: 'other', passportsHeld: 53 };
      expect(entriesOf([other, ...plants]).map(({ passportsHeld }) => passportsHeld)).toEqual([54, 53]);
      const [first = CAUSE, ...others] = plants;
      const unknown = entriesOf([{ ...first, passportsHeld: null, firstSeenAt: null, otherValues: 3 }, ...others]);
      expect(unknown).toMatchObject([{ passportsHeld: null, firstSeenAt: null, values: [], count: 108 }]);
    });
  });

  it('the title of a cause names its most frequent values with their counts', () => {
    const values = [
      { value: 'Germny', count: 40 },
      { value: 'Tschechei', count: 11 },
      { value: 'x'.repeat(50), count: 2 },
      { value: 'Prussia', count: 1 },
    ];
    expect(titleText({ ...CAUSE, values, otherValues: 3 })).toBe(
      `The country of origin is not known: “Germny” (40), “Tschechei” (11), “${'x'.repeat(39)}…” (2) and 4 other values.`,
    );
    const once = [
      { value: '{"A":"1","B":"2"}', count: 1 },
      { value: '{not JSON', count: 1 },
    ];
    expect(titleText({ ...CAUSE, values: once, otherValues: 0 })).toBe(
      'The country of origin is not known: “A: 1, B: 2”, “{not JSON”.',
    );
    expect(titleText(CAUSE)).toBe('The country of origin is not known.');
  });

  it('the inbox escapes text of the source and of people', () => {
    const view = {
      causes: [CAUSE],
      sources: [HOSTILE],
      parts: { products: 0, bomItems: 0 },
      filter: { source: '', type: '' },
      mayDecide: true,
    };
    const markup = inboxPage(view, REQUEST).markup;
    expect(markup).toContain('The country of origin is not known.');
    expect(markup).not.toContain('<img');
  });

  it('the inbox asks about BOM items at the platform only where some wait for an answer', () => {
    const view = { causes: [], sources: [], filter: { source: '', type: '' }, mayDecide: true };
    expect(inboxPage({ ...view, parts: { products: 0, bomItems: 0 } }, REQUEST).markup).not.toContain(
      '/attention/parts',
    );
    expect(inboxPage({ ...view, parts: { products: 2, bomItems: 7 } }, REQUEST).markup).toContain(
      '7 BOM items of 2 products',
    );
  });
});

describe('a cause', () => {
  it('the page of a cause marks the cell at fault and escapes it', () => {
    const markup = causePage(VIEW, REQUEST).markup;
    expect(markup).toMatch(/<td class="wrong" data-label="HERKL">.*?&quot;&gt;&lt;img/);
    expect(markup).not.toContain('<img');
  });

  it('the page of a cause shows a viewer no form', () => {
    const markup = causePage({ ...VIEW, mayEdit: false, mayDecide: false }, REQUEST).markup;
    expect(markup).not.toContain('method="post"');
    expect(markup).toContain('rows.xlsx');
  });

  it('the page of a cause offers no download where the cause has no rows, as for blocked passports', () => {
    expect(causePage(VIEW, REQUEST).markup).toContain('/rows.xlsx');
    expect(causePage({ ...VIEW, hasRows: false }, REQUEST).markup).not.toMatch(/rows\.(xlsx|csv)/);
  });

  it('the page of a cause names the whole group on the button that tries it again', () => {
    expect(causePage(VIEW, REQUEST).markup).toContain('Try 9 rows again');
  });

  it('the page of a cause has its values, and each leads to the rows that have it', () => {
    const cause = { ...CAUSE, values: [{ value: 'Germny & Co', count: 8 }], otherValues: 1 };
    const all = causePage({ ...VIEW, cause }, REQUEST).markup;
    expect(all).toContain('<a href="/attention/c0ffee?value=Germny+%26+Co">Germny &amp; Co</a>');
    expect(all).toMatch(/8 rows<.*and 1 other value</);
    const one = causePage({ ...VIEW, cause, query: new URLSearchParams({ value: 'Germny & Co' }) }, REQUEST).markup;
    expect(one).toContain('Rows with “Germny &amp; Co”');
    expect(one).toContain('<a href="/attention/c0ffee">All 9</a>');
  });

  const refused = (code: string, type: Cause['type'] = 'blocked') =>
    causePage({ ...VIEW, cause: { ...CAUSE, type, code } }, REQUEST).markup;
  const PRIMARY = '<summary class="button ">It is there: 9 items…</summary>';
  const SECONDARY = '<summary class="button plain">It is there: 9 items…</summary>';

  it('the page of a refused write asks first what the platform has only where a request may have arrived', () => {
    for (const markup of [refused('timeout', 'unconfirmed'), refused('exhausted', 'parked'), refused('unsupported')]) {
      expect(markup).toContain(PRIMARY);
    }
    for (const markup of [refused('forbidden'), refused('gate'), refused('refused', 'rejected')]) {
      expect(markup).toContain(SECONDARY);
      expect(markup).not.toContain(PRIMARY);
    }
  });

  it('the page of a refused write offers to correct rows only where the row may be at fault', () => {
    for (const markup of [refused('refused', 'rejected'), refused('gate'), refused('country.unknown', 'quarantine')]) {
      expect(markup).toContain('Correct the rows');
    }
    for (const markup of [refused('forbidden'), refused('exhausted', 'parked'), refused('part.missing', 'part')]) {
      expect(markup).not.toContain('Correct the rows');
    }
  });

  it('the page of parts that are in no file offers to settle nothing, and commands in a reason are marked as code', () => {
    const item = { kind: 'bom_item', key: 'L1', naturalKey: null, name: null, revision: 1, since: null } as const;
    const page = (type: Cause['type'], code: string) => {
      const reason = { code: 'unknown', message: 'Its `material` M is in no file.' } as const;
      const member: CauseMember = { record: null, run: null, item: { ...item, state: 'waiting', reason } };
      const members = { ...VIEW.members, rows: [member] };
      return causePage({ ...VIEW, members, cause: { ...CAUSE, type, code } }, REQUEST).markup;
    };
    expect(page('blocked', 'gate')).toContain('Settle L1');
    expect(page('blocked', 'gate')).toContain('Its <code>material</code> M is in no file.');
    expect(page('part', 'part.missing')).not.toMatch(/Settle|settle/);
  });

  it.each([
    ['an export that the guard holds', 'guard', 'guard.held'],
    ['a run that waits for an approval', 'held', 'run.held'],
  ] as const)('the page of %s leads operators to the decision, and has no list of members', (_, type, code) => {
    const cause = { ...CAUSE, type, code, count: 250 };
    const { markup } = causePage({ ...VIEW, cause }, REQUEST);
    expect(markup).toContain('href="/runs/accept?source=erp"');
    expect(markup).not.toContain('<td class="wrong"');
    expect(causePage({ ...VIEW, cause, mayDecide: false }, REQUEST).markup).not.toContain('/runs/accept');
  });
});

describe('the cell at fault', () => {
  const fields = { SKU: 'A-1', HERKL: 'Untan', LAND: 'Untan', NAME: '' };
  const of = (issue: Partial<Issue>) => columnsAtFault(fields, { code: 'row.value', message: 'x', ...issue });

  it('the cell at fault is the column that the issue names', () => {
    expect(of({ field: 'HERKL' })).toEqual(['HERKL']);
    expect(of({ field: 'SKU, NAME' })).toEqual(['SKU', 'NAME']);
  });

  it('the cell at fault is the column that the expression of the field reads', () => {
    expect(of({ field: 'country', expression: 'country(row.HERKL)', value: 'Untan' })).toEqual(['HERKL']);
    expect(of({ field: 'name', expression: 'row["NAME"] + row.SKU' })).toEqual(['NAME', 'SKU']);
  });

  it('the cell at fault is only the one whose value the message quotes, where the expression reads several columns', () => {
    const row = { Omschrijving: 'Emmer', 'Nettogewicht kg': '1,4 kg' };
    const issue: Issue = {
      code: 'decimal.format',
      message: '"1,4 kg" is not a decimal number with a decimal comma.',
      field: 'description',
      value: row,
      expression: 'row.Omschrijving + ", " + decimal(row["Nettogewicht kg"], ",") + " kg"',
    };
    expect(columnsAtFault(row, issue)).toEqual(['Nettogewicht kg']);
    expect(columnsAtFault(row, { ...issue, message: 'The expression failed.' })).toEqual(Object.keys(row));
  });

  it('the cell at fault is the place of the value where the issue names no column', () => {
    expect(of({ field: 'country', value: 'Untan' })).toEqual(['HERKL', 'LAND']);
    expect(of({ field: 'country' })).toEqual([]);
  });
});

describe('what came of a task', () => {
  const replayed = {
    records: 9,
    passing: 7,
    unmapped: 0,
    staged: 7,
    quarantined: 2,
    leftUnconfirmed: 0,
    passports: { asked: 0, incomplete: 0 },
  };

  it('the result of a try shows what would pass, and that nothing was changed', () => {
    const result = { cause: 'c0ffee', title: HOSTILE, members: 9, dryRun: true, replayed, left: 9, synced: null };
    const markup = outcomeText({ name: 'replay-cause', outcome: { ok: true, result } })?.markup ?? '';
    expect(markup).toContain('7 would pass the mapping, and 2 still would fail.');
    expect(markup).toContain('Nothing was changed.');
    expect(markup).not.toContain('<img');
  });

  it('the result of an upload shows what was stored, and what was left out', () => {
    const result = { runId: 5, result: 'complete', leftOut: 1, changed: 3, mapped: 2, quarantined: 1, excluded: 0 };
    const markup = outcomeText({ name: 'correct-rows', outcome: { ok: true, result } })?.markup ?? '';
    expect(markup).toContain('<b>3 rows stored:</b> 2 passed, 1 still fails, 0 excluded');
    expect(markup).toContain('1 row was left out');
    expect(markup).toContain('/runs/5');
  });

  it('the result of a task is empty while it runs, or for a task without sentences', () => {
    expect(outcomeText({ name: 'replay-cause', outcome: null })).toBeNull();
    expect(outcomeText({ name: 'passport-pdf', outcome: { ok: true, result: {} } })).toBeNull();
  });
});
