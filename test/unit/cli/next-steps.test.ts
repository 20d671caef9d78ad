import { describe, expect, it } from 'vitest';
import { nextStepOf } from '../../../src/cli/text/next-steps.ts';
import { STATES_IN_ORDER } from '../../../src/cli/text/words.ts';
import { isSettleState, mayBeSettled, type Resolution } from '../../../src/domain/delivery/manual-resolution.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../../src/domain/item.ts';
import type { ItemState } from '../../../src/domain/ports/ledger/ledger-views.ts';
import { REPLAY_STATES } from '../../../src/domain/ports/replay.ts';

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
    case 'sync':
      return true;
    case 'publish':
    case 'unpublish':
      return kind === 'product' || kind === 'passport';
    case 'replay':
      // A passport whose write a person has ended is asked for with `publish`.
      return REPLAY_STATES.some((one) => one === state) && (kind !== 'passport' || state !== 'superseded');
    case 'settle': {
      const [resolution] = words.flatMap((word) => RESOLUTIONS[word] ?? []);
      if (resolution === undefined || !isSettleState(state)) return false;
      const isNamed = kind !== 'passport' || command.includes('--kind passport');
      return isNamed && mayBeSettled({ kind, state, uncertain: state === 'in_doubt' }, resolution);
    }
    default:
      return false;
  }
}

describe.each(SUBJECT_KINDS)('the next step for a %s', (kind) => {
  it.each(STATES_IN_ORDER)('each command that the next step names is accepted in the state %s', (state) => {
    const step = nextStepOf({ kind, state, reason: null });
    const commands = [...step.matchAll(/`(dpp-sync [^`]+)`/g)].map(([, command = '']) => command);
    expect(commands.filter((command) => !isAccepted(command, kind, state))).toEqual([]);
    if (isSettleState(state)) expect(commands.length).toBeGreaterThan(0);
  });
});

it('the next step for a passport that a business rule refuses is its withdrawal if it is not wanted', () => {
  const step = nextStepOf({ kind: 'passport', state: 'blocked', reason: { code: 'gate' } });
  expect(step).toContain('`dpp-sync unpublish KEY`');
  expect(step).not.toContain('--ignore');
});
