import { describe, expect, it } from 'vitest';
import { createImportSize } from '../../../src/delivery/imports/import-size.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { claimedProduct } from '../../support/ledger/deliveries.ts';

const detail = { status: null, message: 'No.' };
const FITS: Outcome = { kind: 'accepted', evidence: 'echo', remoteId: null };
const TIMED_OUT: Outcome = { kind: 'ambiguous', cause: 'timeout', detail };
const TOO_LARGE: Outcome = { kind: 'refused', detail: { status: 413, message: 'Too large.' } };
const ONE_ROW: Outcome = { kind: 'refused', detail, members: [{ kind: 'refused', detail }] };

const request = (count: number, groupMax: number | null = null) => ({
  members: Array.from({ length: count }, (_, id) => claimedProduct({ id, groupMax })),
});

/** The sizes after each of so many full imports with this outcome. */
function sizesAfter(size: ReturnType<typeof createImportSize>, outcome: Outcome, times: number): number[] {
  return Array.from({ length: times }, () => {
    size.answered(request(size.now()), outcome);
    return size.now();
  });
}

describe('the size of imports', () => {
  it.each([TIMED_OUT, TOO_LARGE])('the size of imports is halved by an import that was too large', (outcome) => {
    expect(sizesAfter(createImportSize(100), outcome, 8)).toEqual([50, 25, 13, 7, 4, 2, 1, 1]);
  });

  it('the size of imports is halved once by several imports that were in flight together', () => {
    const size = createImportSize(100);
    size.answered(request(100), TIMED_OUT);
    size.answered(request(100), TIMED_OUT);
    expect(size.now()).toBe(50);
  });

  it('the size of imports is doubled by imports that fit, later each time that the larger size has failed once more', () => {
    const size = createImportSize(100);
    sizesAfter(size, TIMED_OUT, 1);
    expect(sizesAfter(size, FITS, 8).indexOf(100)).toBe(7);
    sizesAfter(size, TIMED_OUT, 1);
    expect(sizesAfter(size, FITS, 16).indexOf(100)).toBe(15);
    expect(size.now()).toBe(100);
  });

  it('the size of imports never exceeds the limit of the profile', () => {
    const size = createImportSize(10);
    expect(Math.max(...sizesAfter(size, FITS, 20))).toBe(10);
  });

  it.each<[string, Outcome]>([
    ['refused by its rows', ONE_ROW],
    ['refused for the rate', { kind: 'throttled', retryAfterMs: null, detail }],
    ['not sent', { kind: 'unavailable', sent: false, retryAfterMs: null, detail }],
    ['refused for the key', { kind: 'denied', by: 'key', detail }],
    ['sent to a wrong address', { kind: 'refused', detail, endpoint: true }],
  ])('the size of imports is not changed by an import that was %s', (_, outcome) => {
    expect(sizesAfter(createImportSize(100), outcome, 3)).toEqual([100, 100, 100]);
  });

  it('the size of imports is not changed by the parts of a split import, or by an import of one product', () => {
    const size = createImportSize(100);
    size.answered(request(50, 50), TIMED_OUT);
    size.answered(request(1), TIMED_OUT);
    expect(size.now()).toBe(100);
  });
});
