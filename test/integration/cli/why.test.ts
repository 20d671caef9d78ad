import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reason, ReasonCode } from '../../../src/domain/delivery/stored-reason.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { PassportRules } from '../../../src/domain/passport.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import type { Why } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { claimDue, claimOne, deliverAll, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, FORMS, NO_PASSPORTS, useLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, pullRows, row, stageRows } from '../../support/ledger/records.ts';

const AUTO = { init: 'when-complete', publish: 'auto' } as const;
const fixture = useLedger({ rules: AUTO });

/** P1 has the BOM item B1 of the material M1. */
const ROWS: Record<string, MapResult> = {
  P1: items(product('P1')),
  M1: items(material('M1')),
  B1: items(bomItem('B1', 'P1', 'M1')),
};
const EXCLUDED: MapResult = { status: 'excluded' };
const WRONG: MapResult = {
  status: 'quarantined',
  issues: [
    {
      code: 'country.unknown',
      message: '"XX" is no country.',
      field: 'country_of_origin',
      value: 'XX',
      cure: 'Write a code of ISO 3166.',
    },
  ],
  blockedProducts: ['P1'],
};

function why(asked: string, rules: Partial<PassportRules> = {}, file = fixture.file): Why | null {
  const db = openDatabaseReadOnly(file);
  if (db === null) throw new Error('There is no ledger.');
  try {
    return createDashboard(db, { ...NO_PASSPORTS, ...AUTO, ...rules }, FORMS).views.why(asked);
  } finally {
    db.close();
  }
}

/** Each step that is not done, as one line. */
function open(asked = 'P1', rules: Partial<PassportRules> = {}): string[] {
  const steps = why(asked, rules)?.steps ?? [];
  return steps
    .filter(({ standing }) => standing !== 'ok')
    .map(({ standing, text, command }) => `${standing}: ${text}${command === null ? '' : ` [${command}]`}`);
}

async function evaluate(): Promise<void> {
  await fixture.ledger.evaluatePassports({ afterKey: null, limit: 100 });
}

/** Claims the first due delivery of this kind, and settles it with this decision. */
async function settleNext(kind: 'product' | 'material' | 'bom_item' | 'passport', decision: Decision): Promise<void> {
  const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 100 });
  for (const { id } of due) {
    if (fixture.ledger.views.delivery(id)?.kind !== kind) continue;
    await claimOne(fixture.ledger, id);
    await settleOne(fixture.ledger, { id, decision });
    return;
  }
  throw new Error(`No ${kind} is due.`);
}

async function publishAll(): Promise<void> {
  await deliverAll(fixture.ledger);
  await evaluate();
  await deliverAll(fixture.ledger);
}

describe('why a passport is not published', () => {
  it('the answer to why begins with the source and ends with the passport, in one sentence and its steps', async () => {
    await stageRows(fixture.ledger, ROWS);
    await publishAll();
    expect(why('P1')).toEqual({
      key: 'P1',
      naturalKey: 'SKU-P1',
      name: 'Product P1',
      answer: 'The passport of SKU-P1 is published.',
      published: true,
      steps: [
        'Its source erp was read completely at 2027-01-15 02:30 UTC.',
        'Its row was read (erp/default, test.csv:1) and mapped.',
        'The platform has the product as its source has it.',
        'Its BOM item is at the platform.',
        'The product is complete.',
        'Its passport is published.',
      ].map((text) => expect.objectContaining({ standing: 'ok', text, command: null })),
    });
  });

  it('the answer to why finds the product by its natural key', async () => {
    await stageRows(fixture.ledger, ROWS);
    expect(why('SKU-P1')?.key).toBe('P1');
  });

  it('why has no answer for an empty name, though a row in quarantine has an empty cell', async () => {
    await pullAndMap(fixture.ledger, [row('X1', { name: '' })], () => WRONG);
    expect(why('X1')).not.toBeNull();
    expect(why('')).toBeNull();
  });

  it('the answer to why has nothing about a product that no row names', async () => {
    await stageRows(fixture.ledger, ROWS);
    expect(why('P9')).toBeNull();
  });

  it('the answer to why names field, value, rule and place of a row in quarantine, and what to do', async () => {
    await stageRows(fixture.ledger, ROWS);
    await publishAll();
    await stageRows(fixture.ledger, { ...ROWS, B2: WRONG });
    const text =
      'A row that belongs to it has an error (erp/default, test.csv:1): "XX" is no country (field country_of_origin, rule country.unknown). Write a code of ISO 3166.';
    expect(open()).toEqual([`stop: ${text} [dpp-sync sync erp]`]);
    expect(why('P1')?.answer).toBe(
      'The passport of SKU-P1 is published, but it does not show everything that its source has, because a row that belongs to it has an error (erp/default, test.csv:1): "XX" is no country (field country_of_origin, rule country.unknown).',
    );
  });

  it('the answer to why finds a product that exists in quarantine alone, by its key and by a value of its row', async () => {
    await pullRows(fixture.ledger, { rows: [row('P1', { MATNR: 'A-1' })] });
    const [record] = await fixture.ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 1 });
    await fixture.ledger.stage([{ id: record?.id ?? 0, version: record?.version ?? 0, result: WRONG }]);
    for (const asked of ['P1', 'A-1']) {
      expect(why(asked)).toMatchObject({
        key: asked,
        published: false,
        answer: `The passport of ${asked} is not published, because the row of ${asked} has an error (erp/default, test.csv:1): "XX" is no country (field country_of_origin, rule country.unknown).`,
        steps: [{ standing: 'ok' }, { standing: 'stop', record: record?.id }],
      });
    }
  });

  it('the answer to why finds a row that no mapping uses', async () => {
    await stageRows(fixture.ledger, { ...ROWS, P2: EXCLUDED });
    expect(open('P2')).toEqual([
      'stop: No mapping uses the row of P2 (erp/default, test.csv:1): the condition `when` of each mapping is false for it. If the row should become a product, correct the row or the condition. [dpp-sync preview erp]',
    ]);
  });

  it('the answer to why finds a row that waits to be mapped', async () => {
    await pullRows(fixture.ledger, { rows: [row('P1')] });
    expect(why('P1')?.answer).toBe(
      'The passport of P1 is not published, because not all rows of its source erp are mapped yet.',
    );
  });

  it('the answer to why shows that the source no longer has the product', async () => {
    const others = { P2: items(product('P2')), P3: items(product('P3')) };
    await stageRows(fixture.ledger, { P1: items(product('P1')), ...others });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, others);
    expect(open()[0]).toBe(
      'stop: Its source no longer has the product: its row is gone. If the row should be there, correct the export: the next sync reads the row. If it is rightly gone, accept that. [dpp-sync settle --ignore P1]',
    );
  });

  it('the answer to why shows that a product whose passport is published is gone from its source', async () => {
    const others = { P2: items(product('P2')), P3: items(product('P3')) };
    await stageRows(fixture.ledger, { P1: items(product('P1')), ...others });
    await publishAll();
    await stageRows(fixture.ledger, others);
    expect(why('P1')?.answer).toBe(
      'The passport of SKU-P1 is published, although its source no longer has the product: its row is gone.',
    );
  });

  it('the answer to why shows the guard that holds the read of its source', async () => {
    await stageRows(fixture.ledger, ROWS);
    await stageRows(fixture.ledger, { M1: ROWS['M1'] ?? EXCLUDED });
    expect(open()[0]).toMatch(
      /^stop: The guard holds the last read of its source erp: 2 of 3 records .* If it is right, accept .*: `dpp-sync sync --accept erp`\. \[dpp-sync preview erp]$/,
    );
    const lost = () => open().find((line) => line.includes('does not have its row'));
    const refusing = 'refuse the read: `dpp-sync refuse erp`.';
    expect(open()[0]).toContain('refuse it, and what was there stays: `dpp-sync refuse erp`. If it is right');
    expect(lost()).toContain(refusing);
    await fixture.ledger.refuse({ source: 'erp', by: 'anna' });
    expect(open()[0]).toMatch(/ anna has refused this read, so what was there stays\./);
    expect(lost()).toContain('accept the read: `dpp-sync sync --accept erp`.');
    expect(lost()).not.toContain(refusing);
    await fixture.ledger.accept({ sources: ['erp'] });
    expect(open()[0]).toMatch(/ A person has accepted this read at .* \[dpp-sync sync erp]$/);
  });

  it('the answer to why follows the chain of waiting items to the cause', async () => {
    await stageRows(fixture.ledger, ROWS);
    await settleNext('product', delivered(1));
    await settleNext('material', { kind: 'rejected', reason: { code: 'refused', message: 'The name is taken.' } });
    expect(open()).toEqual([
      'waits: Its BOM item B1 waits for an item that it refers to.',
      'stop: The material M1 is rejected: The name is taken. Correct the row, the mapping or a lookup table: the next sync sends the item again. To send it as it is now: `dpp-sync replay --key M1`. To leave the platform as it is: `dpp-sync settle --ignore M1`. [dpp-sync sync erp]',
    ]);
    expect(why('P1')?.answer).toBe(
      'The passport of SKU-P1 is not published, because the material M1 is rejected: The name is taken.',
    );
  });

  it('the answer to why names an item that no row gives, and the row in quarantine that would give it', async () => {
    const { M1: _, ...without } = ROWS;
    await stageRows(fixture.ledger, without);
    await deliverAll(fixture.ledger);
    expect(open()[1]).toBe(
      'stop: The material M1 is in no file, and erp/default, test.csv:1 names it. Add the missing row to its source, or correct the row that names it.',
    );
    await stageRows(fixture.ledger, { ...without, M1: { ...WRONG, blockedProducts: [] } as MapResult });
    expect(open()[1]).toContain('stop: The row of the material M1 has an error (erp/default, test.csv:1): "XX" is no');
  });

  it('the answer to why ends where components refer to each other, and where many parts are incomplete', async () => {
    const parts = Array.from({ length: 8 }, (_, n) => [`C${n}`, items(bomItem(`C${n}`, 'P1', `none-${n}`))] as const);
    await stageRows(fixture.ledger, { ...ROWS, ...Object.fromEntries(parts) });
    await deliverAll(fixture.ledger);
    const shown = open();
    expect(shown).toHaveLength(11);
    expect(shown.at(-1)).toBe('unknown: 3 more of its 9 BOM items are not delivered either.');
  });
});

describe('why a delivery keeps a passport back', () => {
  const reason = (code: ReasonCode, rest: Partial<Reason> = {}): Reason => ({
    code,
    message: 'The API says so.',
    ...rest,
  });
  const LATER = Date.UTC(2027, 0, 15, 3);

  it.each<[string, Decision, RegExp]>([
    [
      'rejected',
      { kind: 'rejected', reason: reason('refused', { fields: { gtin: 'wrong length' } }) },
      /^stop: The product is rejected: The API says so \(gtin: wrong length\)\. Correct the row/,
    ],
    [
      'parked',
      { kind: 'parked', reason: reason('exhausted') },
      /^stop: The product was sent too often .* \[dpp-sync replay --key P1]$/,
    ],
    [
      'blocked by a business rule',
      { kind: 'blocked', reason: reason('gate', { status: 409 }) },
      /^stop: The platform refuses the product by a business rule \(409\): The API says so\. Fulfil the rule, in the source, .* \[dpp-sync replay --key P1]$/,
    ],
    [
      'blocked, because the API has no such write',
      { kind: 'blocked', reason: reason('unsupported') },
      /^stop: The product is blocked: .* \[dpp-sync settle --delivered P1]$/,
    ],
    [
      'blocked, because the platform had it before',
      { kind: 'blocked', reason: reason('adopted') },
      /^stop: The product is blocked: .* \[dpp-sync sync --accept erp]$/,
    ],
    [
      'unconfirmed, and looked up by itself',
      { kind: 'unconfirmed', nextLookAt: LATER, spend: false, reason: reason('timeout') },
      /^waits: The product was sent, and nothing has confirmed that it arrived: The API says so\. At 2027-01-15 03:00 UTC, dpp-sync looks the write up\.$/,
    ],
    [
      'unconfirmed, with nothing left to look up',
      { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: reason('timeout') },
      /^stop: The product was sent, and nothing has confirmed that it arrived: .* \[dpp-sync settle --delivered P1]$/,
    ],
    [
      'due again later',
      { kind: 'retry', dueAt: LATER, spend: true, reason: reason('throttled') },
      /^waits: The product could not be sent yet: The API says so\. At 2027-01-15 03:00 UTC, dpp-sync sends it again\.$/,
    ],
    [
      'due, while the API refuses the key',
      { kind: 'retry', dueAt: LATER, spend: false, reason: reason('denied_key') },
      /^stop: The API refuses the product: The API says so\. Replace the key\. .* \[dpp-sync check]$/,
    ],
  ])('the answer to why explains a delivery that is %s', async (_, decision, expected) => {
    await stageRows(fixture.ledger, { P1: items(product('P1')) });
    await settleNext('product', decision);
    expect(open()[0]).toMatch(expected);
    expect(why('P1')?.published).toBe(false);
  });

  it('the answer to why shows a delivery that is due, while the API refuses the key for others', async () => {
    await stageRows(fixture.ledger, { P1: items(product('P1')), P2: items(product('P2')) });
    await settleNext('product', { kind: 'retry', dueAt: LATER, spend: false, reason: reason('denied_scope') });
    const [other = ''] = ['P1', 'P2'].filter((key) => fixture.ledger.views.item('product', key)?.reason === null);
    expect(open(other)).toEqual([
      expect.stringMatching(/^stop: The API refuses the product: The API says so\. Grant the scope, /),
    ]);
  });

  it('the answer to why shows a delivery that is due, and one that is being sent', async () => {
    await stageRows(fixture.ledger, { P1: items(product('P1')) });
    expect(open()).toEqual(['waits: The product is due. The daemon or the next sync sends it.']);
    await fixture.ledger.noteApiWait({ since: 0, until: LATER, askAgainAt: LATER, message: 'Slow down.' });
    expect(open()[0]).toContain('is due, and the API has asked to wait until 2027-01-15 03:00 UTC.');
    await claimDue(fixture.ledger);
    expect(open()).toEqual(['waits: The product is being sent.']);
  });

  it('the answer to why names the change whose proof the other changes of products wait for', async () => {
    const named = (name: string): Record<string, MapResult> => ({
      P1: items(product('P1', name)),
      P2: items(product('P2', name)),
    });
    await stageRows(fixture.ledger, named('First'));
    await publishAll();
    await stageRows(fixture.ledger, named('Second'));
    const [first] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 1 });
    const asked = (): string | undefined => open('P2').find((line) => line.includes('has changed'));
    const proof: Reason = { code: 'change_proof', message: 'The list of products cannot be read.' };
    await settleNext('product', { kind: 'unconfirmed', nextLookAt: LATER, spend: true, reason: proof });
    const waits =
      'The product has changed, and the change is sent only after a list has shown the change of the product P1';
    expect(asked()).toBe(`waits: ${waits}.`);
    const decision: Decision = { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: proof };
    await settleOne(fixture.ledger, { id: first?.id ?? 0, decision });
    expect(asked()).toBe(`stop: ${waits}: ${proof.message} [dpp-sync settle --delivered P1]`);
  });
});

describe('why nothing is created before the first contact', () => {
  const first = useLedger({ rules: AUTO, contactRules: { firstContact: 'list', bom: 'ask' } });
  const openThere = () =>
    why('P1', {}, first.file)
      ?.steps.filter(({ standing }) => standing !== 'ok')
      .map(({ standing, text }) => `${standing}: ${text}`);

  it('the answer to why waits for the list of the first contact, and stops where the list cannot be used', async () => {
    await stageRows(first.ledger, { P1: items(product('P1')) });
    const clause = "The product is created only after the platform's list of products was read";
    expect(openThere()).toEqual([`waits: ${clause}.`]);
    await first.ledger.failListing({
      kind: 'product',
      reason: { code: 'unlisted', message: 'The list has no ids.' },
      fromStart: true,
    });
    expect(openThere()).toEqual([
      `stop: ${clause}, and that has failed: The list has no ids. Correct the cause that the message names. Then dpp-sync reads the list again.`,
    ]);
  });
});

describe('why a passport itself stays back', () => {
  const P1 = { P1: items(product('P1')) };

  it.each<[string, Partial<PassportRules>, string]>([
    ['init: manual', { init: 'manual', publish: 'manual' }, '`passports.init: manual`'],
    [
      'no section `passports`',
      { init: 'manual', publish: 'manual', isConfigured: false },
      'The config has no `passports` section',
    ],
    ['publish: manual', { init: 'when-complete', publish: 'manual' }, '`passports.publish: manual`'],
  ])('the answer to why leaves a passport to people with %s', async (_, rules, words) => {
    await fixture.reopen(undefined, rules);
    await stageRows(fixture.ledger, P1);
    await publishAll();
    expect(open('P1', rules)).toEqual([expect.stringContaining(words)]);
    expect(open('P1', rules)[0]).toMatch(/^stop: .* \[dpp-sync publish SKU-P1]$/);
  });

  it('the answer to why shows a passport that waits for its evaluation, for its slot, and for a business rule', async () => {
    await stageRows(fixture.ledger, P1);
    await deliverAll(fixture.ledger);
    expect(open()).toEqual([
      'waits: Its passport is evaluated when no other work is left. The daemon or the next sync evaluates the passport.',
    ]);
    await evaluate();
    expect(open()[0]).toContain('waits: The initialisation of its passport is due.');
    await settleNext('passport', delivered());
    expect(open()[0]).toContain('waits: The publication of its passport is due.');
    await settleNext('passport', {
      kind: 'blocked',
      reason: { code: 'gate', message: 'review is missing', status: 409 },
    });
    expect(why('P1')?.answer).toBe(
      'The passport of SKU-P1 is not published, because the platform refuses the publication of its passport by a business rule (409): review is missing.',
    );
    const texts = why('P1')?.steps.map(({ text }) => text);
    expect(texts).toContain('The platform has all that the sources have of the product.');
    expect(texts).not.toContain('The product is complete.');
  });

  it('the answer to why shows a passport that waits for a business rule first, whatever the guard holds', async () => {
    const more = { M7: ROWS['M1'] ?? EXCLUDED, M8: ROWS['M1'] ?? EXCLUDED };
    await stageRows(fixture.ledger, { ...P1, ...more });
    await deliverAll(fixture.ledger);
    await evaluate();
    await settleNext('passport', delivered());
    await settleNext('passport', {
      kind: 'blocked',
      reason: { code: 'gate', message: 'review is missing', status: 409 },
    });
    await stageRows(fixture.ledger, P1);
    expect(open()[0]).toContain('The guard holds');
    expect(why('P1')?.answer).toContain('because the platform refuses the publication of its passport');
  });

  it('the answer to why names the guard first once the platform has taken a change since its refusal', async () => {
    const more = { M7: ROWS['M1'] ?? EXCLUDED, M8: items(material('M8')) };
    await stageRows(fixture.ledger, { ...P1, ...more });
    await deliverAll(fixture.ledger);
    await evaluate();
    await settleNext('passport', delivered());
    await settleNext('passport', { kind: 'blocked', reason: { code: 'gate', message: 'no origin', status: 409 } });
    await stageRows(fixture.ledger, { P1: items(product('P1', 'Product with a new name')) });
    await deliverAll(fixture.ledger);
    expect(why('P1')?.answer).toContain('because the guard holds the last read of its source erp');
  });

  it('the answer to why shows a passport that a person has withdrawn', async () => {
    await stageRows(fixture.ledger, P1);
    await publishAll();
    await fixture.ledger.askForPassports({ products: ['P1'], status: 'unpublished' });
    await deliverAll(fixture.ledger);
    expect(open()).toEqual([
      'stop: A person has withdrawn its passport. No policy publishes it. To publish it: [dpp-sync publish SKU-P1]',
    ]);
  });

  it('the answer to why shows a passport that was withdrawn because its product is missing', async () => {
    const rules = { withdrawMissingOf: ['erp'] };
    await fixture.reopen(undefined, rules);
    await stageRows(fixture.ledger, { ...P1, P2: items(product('P2')) });
    await publishAll();
    await stageRows(fixture.ledger, { P2: items(product('P2')) });
    await publishAll();
    expect(open('P1', rules)[0]).toContain('Its source no longer has the product');
    expect(open('P1', rules)[1]).toContain(
      'stop: Its passport is withdrawn, since its source no longer has the product',
    );
  });

  it('the answer to why shows a passport that waits for a source of parts that failed, was never read, or left the config', async () => {
    await stageRows(fixture.ledger, P1);
    await deliverAll(fixture.ledger);
    const other = { sources: ['erp', 'pim'], partSources: ['erp', 'pim'] };
    expect(open('P1', other)[0]).toBe(
      'stop: The source pim, which gives parts, has never been read. Read it. [dpp-sync sync pim]',
    );
    const { runId } = await fixture.ledger.startRun({
      source: 'erp',
      trigger: 'cli',
      streams: ['default'],
      mappingRevision: 'r1',
    });
    expect(open()[0]).toBe('waits: Its source erp is being read, since 2027-01-15 02:30 UTC.');
    await fixture.ledger.endRun({ runId, result: 'failed', error: 'The file is not there.' });
    expect(open()[0]).toMatch(
      /^stop: The last read of its source erp failed at .*: The file is not there\. Correct the cause/,
    );
    expect(open('P1', { partSources: [], bomSources: [] })[0]).toMatch(
      /^unknown: The last read of its source erp failed/,
    );
    expect(open('P1', { sources: [], partSources: [], bomSources: [] })[0]).toContain('is not in the config any more');
  });
});

describe('whatever has happened to a product', () => {
  const REASON: Reason = { code: 'refused', message: 'No. Not this one.' };
  const LATER = Date.UTC(2027, 0, 16);
  const DECISIONS: Decision[] = [
    delivered(7),
    { kind: 'rejected', reason: REASON },
    { kind: 'parked', reason: { ...REASON, code: 'exhausted' } },
    { kind: 'blocked', reason: { ...REASON, code: 'gate', status: 409 } },
    { kind: 'unconfirmed', nextLookAt: LATER, spend: false, reason: { ...REASON, code: 'timeout' } },
    { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: { ...REASON, code: 'timeout' } },
    { kind: 'retry', dueAt: LATER, spend: true, reason: { ...REASON, code: 'throttled' } },
  ];
  const decisions = fc.array(fc.constantFrom(...DECISIONS), { maxLength: 6 });
  const results = fc.record({
    P1: fc.constantFrom(items(product('P1')), items(product('P1', 'Other')), WRONG, EXCLUDED),
    M1: fc.constantFrom(items(material('M1')), EXCLUDED),
    B1: fc.constantFrom(items(bomItem('B1', 'P1', 'M1')), EXCLUDED, WRONG),
  });

  it('the answer to why agrees with the passport and with completeness, whatever has happened to a product', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(results, decisions), { minLength: 1, maxLength: 3 }), async (rounds) => {
        const one = createLedgerFixture({ rules: AUTO });
        try {
          for (const [staged, settled] of rounds) {
            await stageRows(one.ledger, staged);
            for (const decision of settled) await settleFirst(one.ledger, decision);
            await one.ledger.evaluatePassports({ afterKey: null, limit: 100 });
            for (const decision of settled) await settleFirst(one.ledger, decision);
          }
          const answer = why('P1', {}, one.file);
          const passport = one.ledger.views.passport('P1');
          if (answer === null) {
            expect(passport).toBeNull();
            return;
          }
          expect(answer.published).toBe(passport?.acknowledged === 'published');
          const open = answer.steps.filter(({ standing }) => standing === 'stop' || standing === 'waits');
          if (!answer.published) expect(open).not.toEqual([]);
          // The guard alone is no reason for a passport that is published.
          const blockers = passport?.blockers.filter((blocker) => !blocker.startsWith('The guard holds')) ?? [];
          if (blockers.length > 0) expect(open).not.toEqual([]);
          if (open.length === 0) expect(passport?.state).toBe('published');
          for (const { text } of answer.steps) expect(text).toMatch(/^[A-Z"].*[.:]$/s);
          expect(answer.answer).toMatch(/^The passport of (SKU-)?P1 is .*\.$/s);
        } finally {
          await one.remove();
        }
      }),
      { numRuns: 25 },
    );
  });
});

/** Settles the first due delivery, if there is one. Only a create gets a remote id. */
async function settleFirst(ledger: SqliteLedger, decision: Decision): Promise<void> {
  const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
  if (due === undefined) return;
  const claimed = await claimOne(ledger, due.id);
  if (claimed === null) return;
  const isCreate = claimed.operation.endsWith('.create');
  const own = decision.kind === 'delivered' ? { ...decision, remoteId: isCreate ? due.id : null } : decision;
  await settleOne(ledger, { id: due.id, decision: own });
}
