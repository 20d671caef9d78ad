import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../domain/ports/queues.ts';
import { openLedgerViews } from '../ledger/read-ledger.ts';
import type { Logger } from '../lib/logging.ts';
import type { RuntimeConfig } from './open-source.ts';
import { passportRulesOf } from './passport-rules.ts';

/** A look into the ledger and the queue, beside whoever works on them. */
export interface OpenedViews {
  views: LedgerViews;
  /**
   * What is in the queues, and which of them a person has paused; null for the embedded ones, which only their own process
   * can see.
   *
   * @throws Fault `queue.unreachable`
   */
  queues(log: Logger): Promise<{ counts: Record<QueueName, QueueCounts>; paused: QueueName[] } | null>;
  close(): void;
}

/**
 * Opens the ledger of a config for reading. Null where there is none yet.
 *
 * @throws Fault `ledger.unreadable` or `ledger.newer`
 */
export function openViews(config: RuntimeConfig): OpenedViews | null {
  const opened = openLedgerViews({ file: config.ledger, passportRules: passportRulesOf(config) });
  if (!opened) return null;
  const { id, views } = opened;
  return {
    views,
    close: () => opened.close(),
    async queues(log) {
      if (config.queue.kind === 'embedded') return null;
      // BullMQ takes longer to load than all else that a look into the ledger needs.
      const { createQueues } = await import('../queue/create-queues.ts');
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

/** Tells the queues of several ledgers on one Redis apart. */
export function queuePrefix(ledgerId: string): string {
  return `dpp-sync-${ledgerId}`;
}
