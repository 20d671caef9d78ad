import { describe, expect, it } from 'vitest';
import { adviceOnDelivery, adviceOnIssue, guardSteps } from '../../../src/domain/advice.ts';
import { isSettleState, mayBeSettled, type Resolution } from '../../../src/domain/delivery/delivery.ts';
import { mayExplain, REASON_CODES, type Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { ForeignCode } from '../../../src/domain/issue.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../../src/domain/item.ts';
import type { ItemState } from '../../../src/domain/ports/ledger/ledger-standing.ts';
import { REPLAY_STATES } from '../../../src/domain/ports/ledger/replay-ledger.ts';
import { STATES_IN_ORDER } from '../../../src/domain/words/states.ts';

const RESOLUTIONS: Record<string, Resolution> = {
  '--delivered': 'delivered',
  '--rejected': 'rejected',
  '--ignore': 'ignored',
};

/** Whether a command is accepted for an item of this kind and state. */
function isAccepted(command: string, kind: SubjectKind, state: ItemState): boolean {
  const [, name = '', ...words] = command.split(' ');
  switch (name) {
    case 'check':
    case 'status':
    case 'sync':
      return true;
    case 'publish':
    case 'unpublish':
      return kind === 'product' || kind === 'passport';
    case 'replay':
      // A replay leaves unconfirmed deliveries as they are without `--force`, and `--force` needs `--key`.
      if (state === 'in_doubt') return words.includes('--force') && words.includes('--key');
      // A passport whose write a person has ended is asked for with `publish`.
      return REPLAY_STATES.some((one) => one === state) && (kind !== 'passport' || state !== 'superseded');
    case 'settle': {
      if (words.includes('--bom')) return state === 'blocked';
      const [resolution] = words.flatMap((word) => RESOLUTIONS[word] ?? []);
      if (resolution === undefined || !isSettleState(state)) return false;
      const isNamed = kind !== 'passport' || command.includes('--kind passport');
      return isNamed && mayBeSettled({ kind, state, uncertain: state === 'in_doubt' }, resolution);
    }
    default:
      return false;
  }
}

function commandsOf(kind: SubjectKind, state: ItemState, reason: Reason | null): string[] {
  const { cure, command } = adviceOnDelivery({ kind, state, reason, key: 'K', naturalKey: 'S', source: 'erp' });
  const named = [...cure.matchAll(/`(dpp-sync [^`]+)`/g)].map(([, one = '']) => one);
  return command === null ? named : [...named, command];
}

describe.each(SUBJECT_KINDS)('the advice for a %s', (kind) => {
  it.each(STATES_IN_ORDER)(`each command in the advice for a ${kind} is accepted in the state %s`, (state) => {
    const reasons = REASON_CODES.filter((code) => mayExplain(code, state)).map((code) => ({ code, message: '' }));
    for (const reason of [null, ...reasons]) {
      const commands = commandsOf(kind, state, reason);
      expect(
        commands.filter((command) => !isAccepted(command, kind, state)),
        reason?.code ?? 'no reason',
      ).toEqual([]);
    }
    if (isSettleState(state)) expect(commandsOf(kind, state, null).length).toBeGreaterThan(0);
  });

  it(`the commands in the advice for a ${kind} have its values in place of the words that stand for them`, () => {
    const commands = STATES_IN_ORDER.flatMap((state) =>
      [null, ...REASON_CODES].flatMap((code) => commandsOf(kind, state, code === null ? null : { code, message: '' })),
    );
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.filter((command) => /\b(KEY|SKU|SOURCE)\b/.test(command))).toEqual([]);
  });
});

it('the advice for a passport that a business rule refuses is its withdrawal if it is not wanted', () => {
  const commands = commandsOf('passport', 'blocked', { code: 'gate', message: '' });
  expect(commands).toContain('dpp-sync unpublish S');
  expect(commands.filter((command) => command.includes('--ignore'))).toEqual([]);
});

it('the advice for a delivery that reached its retry limit is that of the limit, under the title of its reason', () => {
  const item = { kind: 'product' as const, key: 'K', naturalKey: null, source: 'erp' };
  const advice = adviceOnDelivery({ ...item, state: 'parked', reason: { code: 'timeout', message: 'No answer.' } });
  const ofLimit = adviceOnDelivery({ ...item, state: 'parked', reason: null });
  expect(advice).toEqual({ ...ofLimit, title: 'The platform did not answer in time.' });
});

describe('the title of a cause', () => {
  it('the title of a cause names the field, and no value of a single row', () => {
    const message = 'The country "EU" is not known.';
    const { title } = adviceOnIssue({ code: 'country.unknown', field: 'country_of_origin', message }, 'erp');
    expect(title).toBe('The country of origin is not known.');
  });

  it('the title of a cause about a whole row is a sentence without a field', () => {
    const issue = { code: 'claim.conflict' as const, field: 'key', message: 'Another row makes the product "1".' };
    expect(adviceOnIssue(issue, 'erp').title).toBe('The same key occurs twice with different data.');
  });

  it('the title of a cause of an unknown code is the message without values and numbers', () => {
    const message = 'Line 141 holds "x", but 17 columns are expected. Correct it.';
    const advice = adviceOnIssue({ code: 'own.rule' as ForeignCode, message }, 'erp');
    expect(advice).toEqual({
      title: 'Line … holds …, but … columns are expected.',
      meaning: message,
      cure: 'Correct the row in the source, or the mapping.',
      command: 'dpp-sync sync erp',
    });
  });

  it('the title of a cause of a business rule is what the platform says', () => {
    const message = 'The passport cannot be published: review is missing. missing: review.';
    const reason = { code: 'gate' as const, message, fields: { missing: 'review' } };
    const item = { kind: 'passport' as const, key: 'K', naturalKey: null, source: 'erp', state: 'blocked' as const };
    expect(adviceOnDelivery({ ...item, reason }).title).toBe('The passport cannot be published: review is missing.');
  });
});

describe('the advice about a read that the guard holds', () => {
  it.each([
    ['a broken export', {}, true],
    ['an older export', { isOlder: true }, true],
    ['a stream that the config no longer has', { isLeft: true }, false],
  ])(
    '%s is accepted by the last step, and refused by the step before where it can be refused',
    (_, read, mayRefuse) => {
      const commands = guardSteps({ source: 'erp', ...read }).map(({ command }) => command);
      expect(commands.at(-1)).toBe('dpp-sync sync --accept erp');
      expect(commands.at(-2) === 'dpp-sync refuse erp').toBe(mayRefuse);
      expect(commands.filter((command) => /refuse|accept/.test(command))).toHaveLength(mayRefuse ? 2 : 1);
    },
  );
});
