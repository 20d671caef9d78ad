import type { Outcome } from '../domain/outcome.ts';
import type { ContactEntry, ContactLedger, ContactStep } from '../domain/ports/first-contact.ts';
import type { PlatformReader, Publication } from '../domain/ports/platform.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { ListableKind, Listing, Target } from '../domain/ports/target.ts';
import type { Reason } from '../domain/reason.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import { sha256Url } from '../lib/hash.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging.ts';
import type { Pacer } from './admission/pacer.ts';
import type { TargetGate } from './admission/target-gate.ts';
import type { Readable } from './unconfirmed/read-budget.ts';
import { createReadings, type Readings } from './unconfirmed/readings.ts';

export interface FirstContactOptions {
  ledger: ContactLedger;
  target: Pick<Target, 'list' | 'count'>;
  reader: Pick<PlatformReader, 'publications'>;
  pacer: Pick<Pacer, 'answers' | 'heard'>;
  gate: TargetGate;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
  emit: Emit;
}

/**
 * Finds out what the platform has before anything is created there. It reads the lists that the ledger needs, and the ledger
 * compares them with the staged creates. Creates of the kind are suspended meanwhile; everything else goes on.
 */
export interface FirstContact {
  /** Takes the next steps that can be taken now. True where creates may have become due, or items were adopted. */
  look(abort: AbortSignal): Promise<boolean>;
  /** True where no creates are suspended, or none of their lists can be had until something changes at the platform. */
  isAtRest(): Promise<boolean>;
  /** The list that has been out of reach for longest; null where all could be read the last time. */
  unreadable: Readings['unreadable'];
}

/** An unreliable list is read once more: entries that moved during the first reading may have stopped moving. */
const READINGS_MAX = 2;
/** A list that is of no use is looked at again this late: only a change at the platform, or of the profile, helps. */
const USELESS_MS = 300_000;

export function createFirstContact(options: FirstContactOptions): FirstContact {
  const { ledger, target, reader, pacer, gate, clock, log, emit } = options;
  const readings = createReadings({ gate, pacer, clock, emit });
  /** How many readings in a row have failed because of the list itself, by kind. */
  const failures = new Map<ListableKind, number>();
  /** Kinds whose list cannot be used, and when it is read again. */
  const useless = new Map<ListableKind, number>();

  /** The last logged message of each kind, so that it is logged once. */
  const logged = new Map<ListableKind, string>();

  async function mayRead(what: Readable, abort: AbortSignal): Promise<boolean> {
    if (abort.aborted || !gate.allows('read') || readings.waitMs(what) > 0) return false;
    return pacer.answers(null, abort);
  }

  /** @param forMs how long the list is left alone; a scope that is refused is asked for by others */
  function giveUp(kind: ListableKind, forMs = USELESS_MS): void {
    useless.set(kind, clock.ticks() + forMs);
  }

  function succeeded(kind: ListableKind): void {
    failures.delete(kind);
    useless.delete(kind);
    if (logged.delete(kind)) log.info({ kind }, `Creates of ${LISTS[kind]} go on, as the platform's list was read.`);
  }

  async function report(kind: ListableKind, reason: Reason, fromStart: boolean): Promise<void> {
    if (logged.get(kind) !== reason.message) log.warn({ kind }, reason.message);
    logged.set(kind, reason.message);
    await ledger.failListing({ kind, reason, fromStart });
  }

  /** A list could not be read to its end. A failure that may pass is tried again, from the position that was reached. */
  async function failed(kind: ListableKind, what: Readable, outcome: Outcome): Promise<void> {
    if (!('detail' in outcome)) return;
    const isOutOfScope = outcome.kind === 'denied' && outcome.by === 'scope';
    const isOwn = outcome.kind === 'refused' || (outcome.kind === 'ambiguous' && outcome.atWork === true);
    const count = (failures.get(kind) ?? 0) + (isOwn ? 1 : 0);
    failures.set(kind, count);
    if (isOutOfScope) giveUp(kind, 0);
    else if (count >= READINGS_MAX) giveUp(kind);
    const reason = unreadReason(kind, what, outcome.detail.message, isOwn || isOutOfScope);
    await report(kind, reason, isOwn);
  }

  async function read({ kind, from, expected }: ContactStep & { step: 'read' }, abort: AbortSignal): Promise<boolean> {
    if (!(await mayRead(kind, abort))) return false;
    const begunAt = clock.ticks();
    if (expected !== null) {
      const counted = await target.count(kind, abort);
      if (!counted.ok) {
        readings.heard(kind, { complete: false, outcome: counted.outcome }, begunAt);
        await failed(kind, kind, counted.outcome);
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

  async function ended(
    kind: ListableKind,
    what: Readable,
    end: { listing: Listing; begunAt: number; count: number; abort: AbortSignal },
  ): Promise<boolean> {
    const { listing, begunAt, count, abort } = end;
    // An interrupted reading is resumed later. It shows nothing about the list.
    if (abort.aborted) return false;
    const outcome = readings.heard(what, listing, begunAt);
    if (!listing.complete) {
      await failed(kind, what, outcome);
      return false;
    }
    await ledger.endListing({ list: what === 'publications' ? 'publication' : what, count: listing.count });
    emit({ type: 'listing', list: what === 'publications' ? 'publication' : what, read: count, done: true });
    return true;
  }

  async function readPublications(abort: AbortSignal): Promise<boolean> {
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

  /** Compares all staged creates with the stored list. True if any of them was adopted, blocked or released. */
  async function compare(kind: ListableKind, abort: AbortSignal): Promise<boolean> {
    let moved = false;
    while (!abort.aborted) {
      const { adopted, ambiguous, next } = await ledger.compareListed(kind);
      moved ||= adopted + ambiguous > 0 || next === 'released';
      if (adopted + ambiguous > 0) emit({ type: 'adopted', kind, adopted, ambiguous });
      if (next === 'released') succeeded(kind);
      if (next === 'released' || (next === 'publications' && !(await readPublications(abort)))) break;
      if (next === 'unusable' || next === 'unclear_publications') {
        giveUp(kind);
        await report(kind, uselessReason(kind, next), true);
        break;
      }
    }
    return moved;
  }

  /** Suspended creates whose list the API refuses to the key. */
  async function denied(kind: ListableKind, reason: Reason): Promise<void> {
    if (useless.has(kind)) return;
    giveUp(kind, 0);
    await report(kind, unreadReason(kind, kind, reason.message, true), false);
  }

  return {
    unreadable: () => readings.unreadable(),

    async isAtRest() {
      const steps = await ledger.contactSteps();
      return steps.every(({ kind }) => useless.has(kind));
    },

    async look(abort) {
      let moved = false;
      for (const step of await ledger.contactSteps()) {
        const { kind } = step;
        if (abort.aborted) break;
        const refused = gate.refused().get('read');
        if (refused !== undefined) await denied(kind, refused);
        if (refused !== undefined || (useless.get(kind) ?? 0) > clock.ticks()) continue;
        if (step.step === 'read' && !(await read(step, abort))) continue;
        moved = (await compare(kind, abort)) || moved;
      }
      return moved;
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

const LISTS: Record<Readable, string> = { product: 'products', material: 'materials', publications: 'publications' };

function suspendedWords(kind: ListableKind): string {
  return `No ${kind} is created before it is known which ones the platform has.`;
}

const ASSUME_EMPTY = 'If it has none of yours, set `target.firstContact: assume-empty`.';

/** @param lasts whether the list stays as it is; what passes by itself, as an outage, is no reason to do without it */
function unreadReason(kind: ListableKind, what: Readable, why: string, lasts: boolean): Reason {
  const words = [
    `The platform's list of ${LISTS[what]} could not be read: ${why.replace(/\.?$/, '.')}`,
    suspendedWords(kind),
    ...(lasts ? [ASSUME_EMPTY] : []),
  ];
  return { code: 'unlisted', message: words.join(' ') };
}

function uselessReason(kind: ListableKind, why: 'unusable' | 'unclear_publications'): Reason {
  const message =
    why === 'unusable'
      ? `The platform's list of ${LISTS[kind]} does not show the natural key, so it is unknown which of them are yours. Name the field that it does show in the profile (\`naturalKeys\`, \`wireNames\`).`
      : `The platform's list of publications does not show whose they are. Name where it says that in the profile (\`publications\`).`;
  return { code: 'unlisted', message: `${message} ${suspendedWords(kind)} ${ASSUME_EMPTY}` };
}
