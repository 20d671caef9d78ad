import type { Ledger } from '../../domain/ports/ledger.ts';
import type { ListableKind, RemoteItem } from '../../domain/ports/target.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import { hasTrait } from '../../domain/reason.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonValue } from '../../lib/json.ts';

/**
 * When it is believed that something is absent from the platform. A list may lag behind what was acknowledged, so that a
 * complete one does not show yet what arrived. It is believed where it shows an item of the same kind that was sent after
 * the doubtful request had ended. Where there is none, two complete lists have to agree that are `list.lagMs` apart. The
 * first of them is remembered in memory alone: after a restart the wait begins again.
 */
export interface Absence {
  /** Before a list of items is read for these doubts. */
  watch(kind: ListableKind, doubts: readonly UnconfirmedDelivery[]): Promise<ListWatch>;
  /** Before the publications are read, which nothing that was sent later is looked for in. */
  watchPublications(): Pick<ListWatch, 'waitMs'>;
  /** Whether a list that is read now shows what was written before this process began. */
  showsThePast(): boolean;
  /** The doubt is settled. */
  forget(deliveryId: number): void;
}

export interface ListWatch {
  /** Takes in an entry of the list. */
  add(item: RemoteItem): void;
  /** After a complete reading that does not show it: milliseconds until another has to confirm that; 0 to believe it. */
  waitMs(delivery: UnconfirmedDelivery): number;
}

interface Remembered {
  /** When the doubtful request had ended, by the wall clock. */
  endedAt: number;
  /** When a complete list did not show it first, by `ticks`. */
  notShownAt: number | null;
}

/** How many doubts are remembered at most (I9). The oldest are dropped first, and their wait begins again. */
const REMEMBERED_MAX = 50_000;

export function createAbsence(options: {
  ledger: Pick<Ledger, 'acknowledgedCreates'>;
  lagMs: number;
  clock: Clock;
}): Absence {
  const { ledger, lagMs, clock } = options;
  const born = { at: clock.now(), ticks: clock.ticks() };
  const remembered = new Map<number, Remembered>();

  function remember({ id, since, reason }: UnconfirmedDelivery): Remembered {
    const known = remembered.get(id);
    if (known) return known;
    // Writes that a restored ledger looks for were sent before this process began.
    const endedAt = hasTrait(reason, 'since_backup') ? Math.min(since, born.at) : since;
    const fresh = { endedAt, notShownAt: null };
    remembered.set(id, fresh);
    for (const oldest of remembered.keys()) {
      if (remembered.size <= REMEMBERED_MAX) break;
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
    async watch(kind, doubts) {
      const begunAt = clock.ticks();
      const ended = doubts.map((delivery) => remember(delivery).endedAt);
      const later =
        lagMs === 0 || doubts.length === 0
          ? []
          : await ledger.acknowledgedCreates({
              kind,
              sentAfter: Math.min(...ended),
              besideId: Math.min(...doubts.map(({ id }) => id)),
            });
      const sentAt = new Map(later.map((create) => [nameOf(create.remoteId), create.sentAt]));
      /** When the newest item was sent that the list shows. */
      let showsUntil = Number.NEGATIVE_INFINITY;
      return {
        add({ remoteId }) {
          showsUntil = Math.max(showsUntil, sentAt.get(nameOf(remoteId)) ?? Number.NEGATIVE_INFINITY);
        },
        waitMs(delivery) {
          if (lagMs === 0 || showsUntil > remember(delivery).endedAt) return 0;
          return confirmedIn(delivery, begunAt);
        },
      };
    },

    watchPublications() {
      const begunAt = clock.ticks();
      return { waitMs: (delivery) => (lagMs === 0 ? 0 : confirmedIn(delivery, begunAt)) };
    },

    showsThePast: () => clock.ticks() >= born.ticks + lagMs,

    forget: (deliveryId) => void remembered.delete(deliveryId),
  };
}

/** A platform may answer with 7 and list "7". */
function nameOf(id: JsonValue): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}
