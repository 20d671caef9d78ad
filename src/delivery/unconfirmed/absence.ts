import { hasTrait } from '../../domain/delivery/reason.ts';
import type { UnconfirmedLedger } from '../../domain/ports/ledger/unconfirmed-ledger.ts';
import type { ListableKind, RemoteItem } from '../../domain/ports/target.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import { remoteIdText } from '../../domain/remote-id.ts';
import type { Clock } from '../../lib/clock.ts';

interface ListWatch {
  /** Adds an entry of the list. */
  add(item: RemoteItem): void;
  /**
   * After a complete list without the item: milliseconds until another list has to confirm the absence; 0 if the
   * absence is believed now.
   */
  waitMs(delivery: UnconfirmedDelivery): number;
}

interface Remembered {
  /** When the unconfirmed request had ended, by the wall clock. */
  endedAt: number;
  /** When a complete list was first read that did not show the item, by `ticks`; null before that. */
  notShownAt: number | null;
}

/**
 * How many deliveries one list may serve, and how many are remembered at most (I9). The oldest are dropped first, and their wait
 * begins again.
 */
export const LOOKED_UP_MAX = 100_000;

/**
 * Decides when an absence from the platform is believed. A list may lag: a complete list may not show yet what the API has
 * acknowledged. An absence is believed if the list shows an item of the same kind that was sent after the unconfirmed request had
 * ended. If there is no such item, two complete lists that are `list.lagMs` apart have to agree. Only memory keeps the time of the
 * first list, so the wait begins again after a restart.
 */
export function createAbsence(options: { ledger: UnconfirmedLedger; lagMs: number; clock: Clock }) {
  const { ledger, lagMs, clock } = options;
  const startedAt = { at: clock.now(), ticks: clock.ticks() };
  const remembered = new Map<number, Remembered>();

  function remember({ id, since, reason }: UnconfirmedDelivery): Remembered {
    const known = remembered.get(id);
    if (known) return known;
    // The write of a delivery with `since_backup` was sent before this process began.
    const endedAt = hasTrait(reason, 'since_backup') ? Math.min(since, startedAt.at) : since;
    const fresh = { endedAt, notShownAt: null };
    remembered.set(id, fresh);
    for (const oldest of remembered.keys()) {
      if (remembered.size <= LOOKED_UP_MAX) break;
      remembered.delete(oldest);
    }
    return fresh;
  }

  function confirmedIn(delivery: UnconfirmedDelivery, begunAt: number): number {
    const known = remember(delivery);
    known.notShownAt ??= clock.ticks();
    return Math.max(0, known.notShownAt + lagMs - begunAt);
  }

  return {
    /** Call it before the list of a kind is read for these deliveries. */
    async watch(kind: ListableKind, deliveries: readonly UnconfirmedDelivery[]): Promise<ListWatch> {
      const begunAt = clock.ticks();
      const ended = deliveries.map((delivery) => remember(delivery).endedAt);
      const later =
        lagMs === 0 || deliveries.length === 0
          ? []
          : await ledger.acknowledgedCreates({
              kind,
              sentAfter: Math.min(...ended),
              besideId: Math.min(...deliveries.map(({ id }) => id)),
            });
      const sentAt = new Map(later.map((create) => [remoteIdText(create.remoteId), create.sentAt]));
      /** When the newest item in the list was sent. */
      let showsUntil = Number.NEGATIVE_INFINITY;
      return {
        add({ remoteId }) {
          showsUntil = Math.max(showsUntil, sentAt.get(remoteIdText(remoteId)) ?? Number.NEGATIVE_INFINITY);
        },
        waitMs(delivery) {
          if (lagMs === 0 || showsUntil > remember(delivery).endedAt) return 0;
          return confirmedIn(delivery, begunAt);
        },
      };
    },

    /**
     * Call it before the publications are read. Later publications prove nothing there, so two lists always have to agree.
     */
    watchPublications(): Pick<ListWatch, 'waitMs'> {
      const begunAt = clock.ticks();
      return { waitMs: (delivery) => (lagMs === 0 ? 0 : confirmedIn(delivery, begunAt)) };
    },

    /** Whether a list that is read now shows the writes from before this process began. */
    showsThePast: () => clock.ticks() >= startedAt.ticks + lagMs,

    /** Forgets a delivery that is not unconfirmed any more. */
    forget: (deliveryId: number) => void remembered.delete(deliveryId),
  };
}

export type Absence = ReturnType<typeof createAbsence>;
