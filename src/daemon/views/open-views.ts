import { wireFormsOf } from '../../api/encode.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../../domain/ports/queues.ts';
import { openLedgerReads } from '../../ledger/reads.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { passportRulesOf } from '../passport-rules.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** A read-only view of the ledger and the queue, beside the process that works on them. */
export interface OpenedViews {
  reads: Reads;
  /**
   * The counts of the queues, and the queues that a person has paused; null for embedded queues, which only their own
   * process can read.
   *
   * @throws Fault `queue.unreachable`
   */
  queues(log: Logger): Promise<{ counts: Record<QueueName, QueueCounts>; paused: QueueName[] } | null>;
  close(): void;
}

/**
 * Opens the ledger of a config for reading. Null if there is none yet.
 *
 * @throws Fault `ledger.unreadable` or `ledger.newer`
 */
export function openViews(config: RuntimeConfig): OpenedViews | null {
  const opened = openLedgerReads({
    file: config.ledger,
    passportRules: passportRulesOf(config),
    forms: wireFormsOf(config.profile),
  });
  if (!opened) return null;
  const { id, reads } = opened;
  return {
    reads,
    close: () => opened.close(),
    async queues(log) {
      if (config.queue.kind === 'embedded') return null;
      // BullMQ takes longer to load than everything else that a view of the ledger needs.
      const { createQueues } = await import('../../queue/create-queues.ts');
      const queues = await createQueues({ url: config.queue.url, prefix: queuePrefix(id), log });
      try {
        const counts = await Promise.all(QUEUE_NAMES.map(async (name) => [name, await queues.counts(name)] as const));
        const paused = await queues.paused();
        return { counts: Object.fromEntries(counts) as Record<QueueName, QueueCounts>, paused };
      } finally {
        await queues.close();
      }
    },
  };
}

/** The prefix of a ledger's queues, so that several ledgers can share one Redis. */
export function queuePrefix(ledgerId: string): string {
  return `dpp-sync-${ledgerId}`;
}
