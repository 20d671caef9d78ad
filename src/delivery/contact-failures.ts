import type { Outcome } from '../domain/delivery/outcome.ts';
import type { Reason } from '../domain/delivery/reason.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { ListName } from './unconfirmed/list-reads.ts';

export interface ContactFailuresOptions {
  ledger: Pick<ContactLedger, 'failListing'>;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** Remembers which lists of the platform failed at the first contact, and reports each failure once. */
export interface ContactFailures {
  /** True if the list of this kind is of no use until something changes at the platform or in the profile. */
  isUseless(kind: ListableKind): boolean;
  /** True if a useless list is not read again yet. */
  isPaused(kind: ListableKind): boolean;
  /** The list was read to its end and is of use. */
  succeeded(kind: ListableKind): void;
  /**
   * The list could not be read to its end. After a failure that may pass, the next read continues at the position that
   * this read has reached.
   */
  readFailed(kind: ListableKind, list: ListName, outcome: Outcome): Promise<void>;
  /** The list was read, and the ledger cannot use it. */
  unusable(kind: ListableKind, why: 'unusable' | 'unclear_publications'): Promise<void>;
  /** The API refuses the list to the key. */
  listRefused(kind: ListableKind, list: ListName, reason: Reason): Promise<void>;
}

/** An unreliable list is read once more: entries that moved during the first read may have stopped moving. */
const READS_MAX = 2;
/** The wait before a useless list is read again. Only a change at the platform or in the profile makes the list useful. */
const USELESS_MS = 300_000;

export function createContactFailures({ ledger, clock, log }: ContactFailuresOptions): ContactFailures {
  /** How many reads in a row have failed because of the list itself. */
  const failures = new Map<ListableKind, number>();
  /** Kinds whose list is useless, and when it is read again. */
  const useless = new Map<ListableKind, number>();
  /** What was logged about the list of a kind since the list was of use, so that it is logged once. */
  const logged = new Map<ListableKind, Set<string>>();

  function giveUp(kind: ListableKind, forMs: number): void {
    useless.set(kind, clock.ticks() + forMs);
  }

  /**
   * @param trouble what is wrong with which list. The message is no name of it, because the platform may word each answer
   *   differently
   * @param restart whether the next read starts at the first page
   */
  async function report(kind: ListableKind, trouble: string, reason: Reason, restart: boolean): Promise<void> {
    const known = logged.get(kind) ?? new Set();
    if (!known.has(trouble)) log.warn({ kind }, reason.message);
    logged.set(kind, known.add(trouble));
    await ledger.failListing({ kind, reason, fromStart: restart });
  }

  return {
    isUseless: (kind) => useless.has(kind),
    isPaused: (kind) => (useless.get(kind) ?? 0) > clock.ticks(),

    succeeded(kind) {
      failures.delete(kind);
      useless.delete(kind);
      if (logged.delete(kind)) {
        log.info({ kind }, `The platform's list was read. ${capitalised(LISTS[kind])} are created again.`);
      }
    },

    async readFailed(kind, list, outcome) {
      if (!('detail' in outcome)) return;
      const isOutOfScope = outcome.kind === 'denied' && outcome.by === 'scope';
      const isOfList = outcome.kind === 'refused' || (outcome.kind === 'ambiguous' && outcome.atWork === true);
      const count = (failures.get(kind) ?? 0) + (isOfList ? 1 : 0);
      failures.set(kind, count);
      // The authorization hold already limits how often a refused scope is tried, so the list needs no pause.
      if (isOutOfScope) giveUp(kind, 0);
      else if (count >= READS_MAX) giveUp(kind, USELESS_MS);
      const cure = isOutOfScope ? GRANT_READ : isOfList ? ASSUME_EMPTY : null;
      const reason = unreadReason(kind, list, outcome.detail.message, cure);
      await report(kind, `${list} ${outcome.kind}`, reason, isOfList);
    },

    async unusable(kind, why) {
      giveUp(kind, USELESS_MS);
      await report(kind, why, uselessReason(kind, why), true);
    },

    async listRefused(kind, list, reason) {
      if (useless.has(kind)) return;
      giveUp(kind, 0);
      await report(kind, `${list} denied`, unreadReason(kind, list, reason.message, GRANT_READ), false);
    },
  };
}

const LISTS: Record<ListName, string> = { product: 'products', material: 'materials', publications: 'publications' };

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function suspendedSentence(kind: ListableKind, list: ListName): string {
  return `No ${kind} is created before dpp-sync has read the platform's list of ${LISTS[list]}.`;
}

const ASSUME_EMPTY =
  'Correct the cause, such as the profile. If the platform has none of your items, set `target.firstContact: assume-empty`.';

const GRANT_READ = 'Use a key that may read this list, such as one with the scope read.';

/** @param cure null for a failure that passes without a change, such as an outage */
function unreadReason(kind: ListableKind, list: ListName, cause: string, cure: string | null): Reason {
  const sentences = [
    `The platform's list of ${LISTS[list]} could not be read: ${cause.replace(/\.?$/, '.')}`,
    suspendedSentence(kind, list),
    ...(cure === null ? [] : [cure]),
  ];
  return { code: 'unlisted', message: sentences.join(' ') };
}

function uselessReason(kind: ListableKind, why: 'unusable' | 'unclear_publications'): Reason {
  const message =
    why === 'unusable'
      ? `The platform's list of ${LISTS[kind]} does not show the natural key, so it is unknown which entries are your items. In the profile, name a field that the list shows (\`naturalKeys\`, \`wireNames\`).`
      : `The platform's list of publications does not show to whom its entries belong. Name the field that shows it in the profile (\`publications\`).`;
  return {
    code: 'unlisted',
    message: `${message} ${suspendedSentence(kind, why === 'unusable' ? kind : 'publications')} If the platform has none of your items, set \`target.firstContact: assume-empty\`.`,
  };
}
