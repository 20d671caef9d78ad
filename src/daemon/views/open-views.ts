import { wireFormsOf } from '../../api/encode.ts';
import type { LedgerConfig } from '../../config/loaded-config.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName, type Queues } from '../../domain/ports/queues.ts';
import { openLedgerReads } from '../../ledger/reads.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { StatusContext } from '../../operations/runtime.ts';
import { passportRulesOf } from '../passport-rules.ts';

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
      const { createQueues } = await import('../../queue/create-queues.ts');
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
