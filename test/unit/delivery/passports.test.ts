import { describe, expect, it } from 'vitest';
import { createPassports } from '../../../src/delivery/passports.ts';

/** Evaluations that end when the test says so, each with the number of staged deliveries. */
function heldEvaluations() {
  const open: ((staged: number) => void)[] = [];
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const ledger = {
    evaluatePassports: () =>
      new Promise<{ staged: number; lastKey: null }>((resolve) => {
        open.push((staged) => resolve({ staged, lastKey: null }));
        begin();
      }),
  };
  return { passports: createPassports({ ledger, now: () => 0 }), open, begun };
}

describe('the evaluation of passports', () => {
  it('an evaluation covers what became dirty while an earlier one was running', async () => {
    const { passports, open, begun } = heldEvaluations();
    const atRest = passports.evaluateAtRest(true);
    await begun;
    passports.markDirty();
    const asked = passports.evaluate();
    open[0]?.(0);
    expect(await atRest).toBe(0);
    await new Promise(setImmediate);
    expect(open).toHaveLength(2);
    open[1]?.(3);
    expect(await asked).toBe(3);
    expect(await passports.evaluate()).toBe(0);
    expect(open).toHaveLength(2);
  });

  it('an evaluation that fails is made again', async () => {
    const failures = [new Error('The disk is full.')];
    const passports = createPassports({
      ledger: {
        evaluatePassports: async () => {
          const failure = failures.pop();
          if (failure) throw failure;
          return { staged: 2, lastKey: null };
        },
      },
      now: () => 0,
    });
    await expect(passports.evaluate()).rejects.toThrow('The disk is full.');
    expect(await passports.evaluate()).toBe(2);
  });
});
