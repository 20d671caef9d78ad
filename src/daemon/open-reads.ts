import { wireFormsOf } from '../api/encode.ts';
import { type LedgerConfig, passportRulesOf } from '../config/loaded-config.ts';
import type { Delivery } from '../delivery/create-delivery.ts';
import type { ApiTrouble } from '../domain/advice.ts';
import { type Access, OPERATIONS, type Operation, scopeOf } from '../domain/delivery/operation.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName, type Queues } from '../domain/ports/queues.ts';
import { openLedgerReads } from '../ledger/reads.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { StatusContext } from '../operations/runtime.ts';

/**
 * A read-only view of the ledger and the queue, beside the process that works on them. It is the runtime of operations that
 * only read.
 */
export interface OpenedViews {
  config: LedgerConfig;
  reads: Reads;
  /** The alerts run in the daemon only. */
  alerts: null;
  queues(openLog: () => Promise<Logger>): ReturnType<StatusContext['queues']>;
  close(): void;
}

/**
 * Opens the ledger of a config for reading. Null if there is none yet.
 *
 * @throws Fault `ledger.unreadable` or `ledger.newer`
 */
export function openViews(config: LedgerConfig): OpenedViews | null {
  const opened = openLedgerReads({
    file: config.ledger,
    passportRules: passportRulesOf(config),
    forms: wireFormsOf(config.profile),
  });
  if (!opened) return null;
  const { id, reads } = opened;
  return {
    config,
    reads,
    alerts: null,
    close: () => opened.close(),
    async queues(openLog) {
      if (config.queue.kind === 'embedded') return null;
      // BullMQ takes longer to load than everything else that a view of the ledger needs.
      const { createQueues } = await import('../queue/create-queues.ts');
      const queues = await createQueues({ url: config.queue.url, prefix: queuePrefix(id), log: await openLog() });
      try {
        return await countQueues(queues);
      } finally {
        await queues.close();
      }
    },
  };
}

/**
 * Counts the jobs of each queue, and finds the queues that a person has paused.
 *
 * @throws Fault `queue.unreachable`
 */
export async function countQueues(
  queues: Pick<Queues, 'counts' | 'paused'>,
): Promise<{ counts: Record<QueueName, QueueCounts>; paused: QueueName[] }> {
  const counts = await Promise.all(QUEUE_NAMES.map(async (name) => [name, await queues.counts(name)] as const));
  const paused = await queues.paused();
  return { counts: Object.fromEntries(counts) as Record<QueueName, QueueCounts>, paused };
}

/** The prefix of a ledger's queues, so that several ledgers can share one Redis. */
export function queuePrefix(ledgerId: string): string {
  return `dpp-sync-${ledgerId}`;
}

// The causes that the ledger does not know: the API is away, or refuses something. Everything that asks this process for causes gets
// them from here, so that the pages, the admin API and the commands list the same causes.

type Api = Pick<Delivery['health'], 'authorization' | 'unreachableSince' | 'longWait' | 'shownRefusals'>;

/** The present troubles with the API; none while it takes everything. */
export function apiTroubles(api: Api, clock: Pick<Clock, 'now' | 'ticks'>): ApiTrouble[] {
  const whole = { scope: null, operations: null };
  const state = api.authorization();
  if (!state.open) return [{ ...whole, kind: `denied_${state.by}`, message: state.reason.message, since: null }];
  const unreachable = api.unreachableSince();
  if (unreachable !== null) {
    return [{ ...whole, kind: 'unreachable', message: null, since: clock.now() - (clock.ticks() - unreachable) }];
  }
  const wait = api.longWait();
  if (wait !== null) return [{ ...whole, kind: 'throttled', message: wait.message, since: wait.since }];
  return [...Map.groupBy(api.shownRefusals(), ([access]) => scopeOf(access))].map(([scope, refused]) => ({
    kind: 'denied_scope',
    scope,
    operations: refused.flatMap(([access]) => (isOperation(access) ? [access] : [])),
    message: refused[0]?.[1].message ?? null,
    since: null,
  }));
}

function isOperation(access: Access): access is Operation {
  return OPERATIONS.some((operation) => operation === access);
}

/** The reads of this process, whose causes have the troubles with the API too. */
export function readsWithTroubles(reads: Reads, troubles: () => readonly ApiTrouble[]): Reads {
  return {
    ...reads,
    causes: (filter) => reads.causes(filter, troubles()),
    cause: (id) => reads.cause(id, troubles()),
  };
}
