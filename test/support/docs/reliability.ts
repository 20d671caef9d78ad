// Each test says here which fault it causes and which invariants it checks. A generator makes `docs/reliability.md`
// from that.

import type { TestOptions } from 'vitest';

/** The invariants of the design, as docs/architecture.md names them. */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9';

/** The faults, in the order and with the words of the table in docs/reliability.md. */
export const FAULTS = {
  'process-killed': 'The process is killed with SIGKILL at any instant',
  'write-cut': 'The process or Redis is killed at each of its writes and fsyncs',
  'power-cut': 'The power fails: everything that was not fsynced is lost',
  'process-stopped': 'The process is frozen until its locks expire, and then continues',
  shutdown: 'SIGTERM, and a second signal while it drains',
  'disk-full': 'The disk is full for a while',
  'disk-error': 'Writing or fsyncing fails with EIO',
  'ledger-corrupt': 'The ledger is damaged',
  'ledger-restored': 'The ledger is yesterday’s backup',
  'ledger-lost': 'The ledger, its log or its lock is removed or replaced',
  'ledger-newer': 'The ledger is from a newer version',
  'queue-lost': 'The queue is wiped (FLUSHALL), or Redis restarts empty',
  'redis-killed': 'Redis is killed, with an append-only file and without',
  'redis-memory': 'Redis is out of memory',
  'api-killed': 'The platform is killed while it works',
  'api-down': 'The platform is away: 503, refused connections, a long outage',
  'answer-lost': 'An answer is lost, cut or unreadable, before or after the effect',
  'server-error': 'The platform answers 5xx, before or after the effect',
  throttled: 'The platform answers 429',
  'key-refused': 'The platform refuses the key, the plan or a scope',
  'platform-lies': 'The platform answers that a write is done, or not done, and that is not so',
  gate: 'A business rule of the platform refuses (409)',
  'cached-refusal': 'The platform repeats an old refusal for an idempotency key',
  'keys-ignored': 'The platform ignores or forgets idempotency keys',
  'network-slow': 'The network is slow, or delivers bytes in small pieces',
  'network-reset': 'Connections are reset, closed late or half open',
  'network-down': 'The network is down for a while',
  'clock-jump': 'The clock jumps by an hour or a day, forwards or back',
  'summer-time': 'Summer time begins or ends',
  'bad-row': 'A row is wrong, or the platform fails at one item',
  'existing-items': 'The workspace already has items of the source, or items of others',
  'changed-amid': 'The source changes while deliveries are in flight',
} as const;
export type Fault = keyof typeof FAULTS;

/** The invariants that `violations` of invariants.ts checks, and the check of the model. */
export const ORACLE = ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7', 'I8'] as const satisfies readonly Invariant[];

declare module 'vitest' {
  interface TaskMeta {
    covers?: { faults: readonly Fault[]; invariants: readonly Invariant[] };
  }
}

/**
 * Options of a test: `it('sentence', covers('queue-lost', 'I5', 'I8'), async () => …)`. Name only what the test
 * asserts: each name puts the test into a cell of the table in docs/reliability.md. The generator reads the call from
 * the text of the file, so write the arguments as literals or `...ORACLE`. An array names several faults.
 */
export function covers(
  faults: Fault | readonly Fault[],
  ...invariants: readonly [Invariant, ...Invariant[]]
): TestOptions {
  return { meta: { covers: { faults: typeof faults === 'string' ? [faults] : faults, invariants } } };
}
