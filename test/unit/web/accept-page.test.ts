import { describe, expect, it } from 'vitest';
import type { HeldRun } from '../../../src/domain/approval.ts';
import type { GuardedRead } from '../../../src/domain/ports/guarded-intake.ts';
import { type AcceptView, acceptPage } from '../../../src/web/pages/runs/accept-page.ts';

const RUN: HeldRun = {
  source: 'erp',
  runId: 12,
  at: Date.UTC(2026, 10, 29),
  excesses: [{ source: 'erp', effect: 'unpublish', count: 3, limit: 1 }],
  effects: {
    erp: { creates: 0, changes: 7, publish: 0, unpublish: 3 },
    plm: { creates: 1, changes: 0, publish: 0, unpublish: 0 },
  },
  writes: { count: 11, digest: 'd' },
  decision: null,
};
const GUARDED: GuardedRead = {
  source: 'erp',
  stream: 'boms',
  runId: 11,
  since: Date.UTC(2026, 10, 28),
  read: 1,
  missing: 3,
  released: 0,
  creates: 0,
  gone: ['L-1'],
  message: '3 of 4 are missing.',
  isLeft: false,
  isOlder: false,
};
const VIEW: AcceptView = {
  source: 'erp',
  guarded: [],
  adopted: [],
  held: { run: RUN, plan: { outline: [] } },
  effects: [],
  refused: [],
  onMissing: 'flag',
  csrf: 'c',
};

const buttons = (view: AcceptView): string[] =>
  [...acceptPage(view).markup.matchAll(/<button[^>]*>([^<]*)<\/button>/g)].map(([, text = '']) => text);
const text = (view: AcceptView): string =>
  acceptPage(view)
    .markup.replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
const decided = (decision: 'approved' | 'refused'): AcceptView => ({
  ...VIEW,
  held: { run: { ...RUN, decision: { decided: decision, by: 'anna', at: RUN.at } }, plan: { outline: [] } },
});

describe('the page on which a person decides', () => {
  it('counts what a held run would do by the source to which it counts, and marks what exceeds a bound', () => {
    expect(text(VIEW)).toContain('erp 0 7 0 3 (allowed: 1)');
    expect(text(VIEW)).toContain('plm 1 0 0 0');
  });

  it('has a button for each decision, named after what is decided', () => {
    expect(buttons(VIEW)).toEqual(['Approve this run of erp', 'Refuse this run of erp']);
    expect(buttons({ ...VIEW, guarded: [GUARDED] })).toEqual([
      'Approve this run of erp, and accept its export',
      'Refuse this export and this run of erp',
    ]);
    expect(buttons({ ...VIEW, guarded: [GUARDED], held: null })).toEqual([
      'The rows are really gone: accept this export of erp',
      'Refuse this export of erp',
    ]);
  });

  it('has no button for what is decided already: a refused run can be approved, and an approved one is run', () => {
    expect(buttons(decided('refused'))).toEqual(['Approve this run of erp']);
    expect(buttons(decided('approved'))).toEqual(['Run erp now']);
    expect(text(decided('approved'))).toContain('anna has approved it, 2026-11-29 00:00 UTC.');
    expect(buttons({ ...decided('approved'), guarded: [GUARDED] })).toEqual([
      'The rows are really gone: accept this export of erp',
      'Refuse this export of erp',
    ]);
  });

  it('has no button to approve what it cannot show', () => {
    const held = { run: RUN, plan: { problem: 'erp.jsonl is gone.' } };
    expect(buttons({ ...VIEW, held })).toEqual(['Run erp now', 'Refuse this run of erp']);
    expect(text({ ...VIEW, held })).toContain('erp.jsonl is gone.');
  });
});
