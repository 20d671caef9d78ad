import type { ContactEntry, ContactStep } from '../domain/ports/first-contact.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type { PlatformReader, Publication } from '../domain/ports/platform.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { ListableKind, Listing, Target } from '../domain/ports/target.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { sha256Url } from '../lib/hash.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { ApiHealth } from './admission/api-health.ts';
import { createContactFailures } from './contact-failures.ts';
import { accessOf, createListReads, type ListName, type ListReads } from './unconfirmed/list-reads.ts';

export interface FirstContactOptions {
  ledger: ContactLedger;
  target: Pick<Target, 'list' | 'count'>;
  reader: Pick<PlatformReader, 'publications'>;
  health: Pick<ApiHealth, 'answers' | 'observe' | 'allows' | 'refused'>;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
  emit: Emit;
}

/**
 * Finds out what the platform has before anything is created there. It reads the lists that the ledger needs, and the ledger
 * compares them with the staged creates. Creates of a kind are suspended until its list was compared. All other deliveries continue.
 */
export interface FirstContact {
  /** Takes the steps that are possible now. True if creates may have become due, or if items were adopted. */
  advance(abort: AbortSignal): Promise<boolean>;
  /** True if no creates are suspended, or if none of their lists can be read until something changes at the platform. */
  isAtRest(): Promise<boolean>;
  /** Of the lists whose last read failed, the one that has failed for the longest time; null if there is none. */
  unreadable: ListReads['unreadable'];
}

export function createFirstContact(options: FirstContactOptions): FirstContact {
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
    unreadable: () => reads.unreadable(),

    async isAtRest() {
      const steps = await ledger.contactSteps();
      return steps.every(({ kind }) => failures.isUseless(kind));
    },

    async advance(abort) {
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

function entryOf(publication: Publication): ContactEntry {
  const { id, productId, sku, isPublic } = publication;
  const fields: JsonObject = {
    ...(productId === null ? {} : { product_id: productId }),
    ...(sku === null ? {} : { sku }),
    is_public: isPublic,
  };
  return { remoteId: id ?? sha256Url(canonicalJson({ ...publication })), fields };
}
