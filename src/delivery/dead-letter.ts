import type { Reason } from '../domain/delivery/reason.ts';
import { isLedgerFault } from '../domain/faults.ts';
import type { DeliveryName } from '../domain/ports/claim.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';

/**
 * Dead-letters deliveries that throw unexpectedly, each with its reason. Otherwise they would throw again at once, and
 * no other delivery would be sent. Never rejects. Resolves to the ledger's error if it could not store a dead letter,
 * else to null.
 *
 * @param isAgain whether this was tried before for the same error, which is logged once
 */
export type DeadLetter = (
  deliveries: readonly DeliveryName[],
  error: unknown,
  isAgain?: boolean,
) => Promise<Error | null>;

const MESSAGE_LENGTH_MAX = 300;

/** @param options.scrub removes secrets from a text before it is stored (I7) */
export function createDeadLetter(options: {
  ledger: Pick<DeliveryLedger, 'deadLetter'>;
  log: Pick<Logger, 'error'>;
  scrub: (text: string) => string;
  /** Describes the operation and the item of a delivery, for the log. */
  reads?: Pick<Reads, 'delivery'> | undefined;
}): DeadLetter {
  const { ledger, reads, log, scrub } = options;

  async function describe(id: number): Promise<object> {
    try {
      const { source, kind, key } = (await reads?.delivery(id)) ?? {};
      return { source, kind, key };
    } catch {
      // The ledger cannot be read. The dead letter cannot be stored then either, and the caller gets that error.
      return {};
    }
  }

  return async (deliveries, error, isAgain = false) => {
    const message = scrub(messageOf(error)).slice(0, MESSAGE_LENGTH_MAX);
    const reason: Reason = { code: 'internal', message: `The delivery cannot be sent: ${message}` };
    for (const { id: deliveryId } of isAgain ? [] : deliveries) {
      log.error(
        { deliveryId, ...(await describe(deliveryId)), err: error },
        'A delivery cannot be attempted and is dead-lettered.',
      );
    }
    try {
      for (const { id: deliveryId, revision } of deliveries) {
        await ledger.deadLetter({ deliveryId, revision, reason, isOneOfMany: deliveries.length > 1 });
      }
      return null;
    } catch (second) {
      if (!isLedgerFault(second))
        log.error({ err: second }, 'A delivery cannot be dead-lettered. The delivery stays as it is.');
      return second instanceof Error ? second : new Error(messageOf(second));
    }
  };
}
