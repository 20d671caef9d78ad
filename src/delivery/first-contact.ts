import { accessOf, type ListName } from '../domain/delivery/operation.ts';
import type { Outcome } from '../domain/delivery/outcome.ts';
import type { Reason } from '../domain/delivery/stored-reason.ts';
import type { ContactEntry, ContactLedger, ContactStep } from '../domain/ports/ledger/contact-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { ListableKind, Listing, PlatformReader, Publication, Target } from '../domain/ports/target.ts';
import { UNREAD_LIST } from '../domain/words/holds.ts';
import type { Clock } from '../lib/clock.ts';
import { sha256Url } from '../lib/hash.ts';
import { canonicalJson, type JsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { ApiHealth } from './admission/api-health.ts';
import { createListReads } from './unconfirmed/list-reads.ts';

interface FirstContactOptions {
  ledger: ContactLedger;
  target: Target;
  reader: PlatformReader;
  health: ApiHealth;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
  emit: Emit;
}

/**
 * Finds out what the platform has before anything is created there. It reads the lists that the ledger needs, and the ledger
 * compares them with the staged creates. Creates of a kind are suspended until its list was compared. All other deliveries continue.
 */
export function createFirstContact(options: FirstContactOptions) {
  const { ledger, target, reader, health, clock, emit } = options;
  const reads = createListReads(options);
  const failures = createContactFailures(options);

  async function mayRead(list: ListName, abort: AbortSignal): Promise<boolean> {
    if (abort.aborted || !health.allows(accessOf(list)) || reads.waitMs(list) > 0) return false;
    return health.answers(null, abort);
  }

  /** True if the API refuses this list, which the creates of the kind need. Then the kind rests. */
  async function isRefused(kind: ListableKind, list: ListName): Promise<boolean> {
    const refused = health.refused().get(accessOf(list));
    if (refused !== undefined) await failures.listRefused(kind, list, refused);
    return refused !== undefined;
  }

  async function read({ kind, from, expected }: ContactStep & { step: 'read' }, abort: AbortSignal): Promise<boolean> {
    if (!(await mayRead(kind, abort))) return false;
    const begunAt = clock.ticks();
    if (expected !== null) {
      const counted = await target.count(kind, abort);
      if (!counted.ok) {
        reads.ended(kind, { complete: false, outcome: counted.outcome }, begunAt);
        await failures.readFailed(kind, kind, counted.outcome);
        return false;
      }
      if (counted.count === expected) {
        await ledger.confirmListing(kind);
        return true;
      }
    }
    if (from === null) await ledger.beginListing(kind);
    let count = from?.ids.length ?? 0;
    emit({ type: 'listing', list: kind, read: count, done: false });
    const listing = await target.list(
      kind,
      async (items, position) => {
        const entries = items.map(({ remoteId, fields }) => ({ remoteId, fields }));
        await ledger.storeListed({ list: kind, entries, position });
        count += entries.length;
        emit({ type: 'listing', list: kind, read: count, done: false });
      },
      { signal: abort, from: from ?? undefined },
    );
    return ended(kind, kind, { listing, begunAt, count, abort });
  }

  async function readPublications(abort: AbortSignal): Promise<boolean> {
    if (await isRefused('product', 'publications')) return false;
    if (!(await mayRead('publications', abort))) return false;
    const begunAt = clock.ticks();
    let count = 0;
    await ledger.beginListing('publication');
    const listing = await reader.publications(
      async (page) => {
        await ledger.storeListed({ list: 'publication', entries: page.map(entryOf), position: null });
        count += page.length;
        emit({ type: 'listing', list: 'publication', read: count, done: false });
      },
      { signal: abort },
    );
    return ended('product', 'publications', { listing, begunAt, count, abort });
  }

  async function ended(
    kind: ListableKind,
    list: ListName,
    end: { listing: Listing; begunAt: number; count: number; abort: AbortSignal },
  ): Promise<boolean> {
    const { listing, begunAt, count, abort } = end;
    // An interrupted read is resumed later. It shows nothing about the list.
    if (abort.aborted) return false;
    const outcome = reads.ended(list, listing, begunAt);
    if (!listing.complete) {
      await failures.readFailed(kind, list, outcome);
      return false;
    }
    const contactList = list === 'publications' ? 'publication' : list;
    await ledger.endListing({ list: contactList, count: listing.count });
    emit({ type: 'listing', list: contactList, read: count, done: true });
    return true;
  }

  /** Compares all staged creates with the stored list. True if any create was adopted, blocked or released. */
  async function compare(kind: ListableKind, abort: AbortSignal): Promise<boolean> {
    let hasChanged = false;
    while (!abort.aborted) {
      const { adopted, ambiguous, next } = await ledger.compareListed(kind);
      hasChanged ||= adopted + ambiguous > 0 || next === 'released';
      if (adopted + ambiguous > 0) emit({ type: 'adopted', kind, adopted, ambiguous });
      if (next === 'released') failures.succeeded(kind);
      if (next === 'released' || (next === 'publications' && !(await readPublications(abort)))) break;
      if (next === 'unusable' || next === 'unclear_publications') {
        await failures.unusable(kind, next);
        break;
      }
    }
    return hasChanged;
  }

  return {
    /** Of the lists whose last read failed, the one that has failed for the longest time; null if there is none. */
    unreadable: () => reads.unreadable(),

    /**
     * True if no creates are suspended, or if none of their lists can be read until something changes at the platform.
     */
    async isAtRest(): Promise<boolean> {
      const steps = await ledger.contactSteps();
      return steps.every(({ kind }) => failures.isUseless(kind));
    },

    /** Takes the steps that are possible now. True if creates may have become due, or if items were adopted. */
    async advance(abort: AbortSignal): Promise<boolean> {
      let hasChanged = false;
      for (const step of await ledger.contactSteps()) {
        const { kind } = step;
        if (abort.aborted) break;
        if (await isRefused(kind, kind)) continue;
        if (failures.isPaused(kind) || step.step === 'wait') continue;
        if (step.step === 'read' && !(await read(step, abort))) continue;
        hasChanged = (await compare(kind, abort)) || hasChanged;
      }
      return hasChanged;
    },
  };
}

export type FirstContact = ReturnType<typeof createFirstContact>;

function entryOf(publication: Publication): ContactEntry {
  const { id, productId, sku, isPublic } = publication;
  const fields: JsonObject = {
    ...(productId === null ? {} : { product_id: productId }),
    ...(sku === null ? {} : { sku }),
    is_public: isPublic,
  };
  return { remoteId: id ?? sha256Url(canonicalJson({ ...publication })), fields };
}

interface ContactFailuresOptions {
  ledger: Pick<ContactLedger, 'failListing'>;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** An unreliable list is read once more: entries that moved during the first read may have stopped moving. */
const READS_MAX = 2;
/** The wait before a useless list is read again. Only a change at the platform or in the profile makes the list useful. */
const USELESS_MS = 300_000;

/** Remembers which lists of the platform failed at the first contact, and reports each failure once. */
export function createContactFailures({ ledger, clock, log }: ContactFailuresOptions) {
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
    /** True if the list of this kind is of no use until something changes at the platform or in the profile. */
    isUseless: (kind: ListableKind) => useless.has(kind),
    /** True if a useless list is not read again yet. */
    isPaused: (kind: ListableKind) => (useless.get(kind) ?? 0) > clock.ticks(),

    /** The list was read to its end and is of use. */
    succeeded(kind: ListableKind) {
      failures.delete(kind);
      useless.delete(kind);
      if (logged.delete(kind)) {
        log.info({ kind }, `The platform's list was read. ${capitalised(LISTS[kind])} are created again.`);
      }
    },

    /**
     * The list could not be read to its end. After a failure that may pass, the next read continues at the position that
     * this read has reached.
     */
    async readFailed(kind: ListableKind, list: ListName, outcome: Outcome) {
      if (!('detail' in outcome)) return;
      const isOutOfScope = outcome.kind === 'denied' && outcome.by === 'scope';
      const isOfList = outcome.kind === 'refused' || (outcome.kind === 'ambiguous' && outcome.atWork === true);
      const count = (failures.get(kind) ?? 0) + (isOfList ? 1 : 0);
      failures.set(kind, count);
      // The authorization hold already limits how often a refused scope is tried, so the list needs no pause.
      if (isOutOfScope) giveUp(kind, 0);
      else if (count >= READS_MAX) giveUp(kind, USELESS_MS);
      const cure = isOutOfScope ? UNREAD_LIST.refused.cure : isOfList ? UNREAD_LIST.unreadable.cure : null;
      const reason = unreadReason(kind, list, outcome.detail.message, cure);
      await report(kind, `${list} ${outcome.kind}`, reason, isOfList);
    },

    /** The list was read, and the ledger cannot use it. */
    async unusable(kind: ListableKind, why: 'unusable' | 'unclear_publications') {
      giveUp(kind, USELESS_MS);
      await report(kind, why, uselessReason(kind, why), true);
    },

    /** The API refuses the list to the key. */
    async listRefused(kind: ListableKind, list: ListName, reason: Reason) {
      if (useless.has(kind)) return;
      giveUp(kind, 0);
      await report(kind, `${list} denied`, unreadReason(kind, list, reason.message, UNREAD_LIST.refused.cure), false);
    },
  };
}

const LISTS: Record<ListName, string> = { product: 'products', material: 'materials', publications: 'publications' };

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function suspendedSentence(kind: ListableKind, list: ListName): string {
  return `No ${kind} is created before dpp-sync has read the platform's list of ${LISTS[list]}.`;
}

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
