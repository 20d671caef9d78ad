// The steps that explain why an item is not delivered. Each state of a delivery has its own explanation.

import { adviceOnDelivery, isGuardedChange } from '../../domain/advice.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { hasTrait, NO_REASON, type Reason, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { ItemKind, SubjectKind } from '../../domain/item.ts';
import type { WhyStep } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-standing.ts';
import type { ItemSummary, ItemView } from '../../domain/ports/ledger/ledger-views.ts';
import { kindWord } from '../../domain/words/states.ts';
import { formatTime } from '../../lib/text/amounts.ts';
import { shellValue, shellWord } from '../../lib/text/safe-text.ts';
import { isStuck } from '../items/item-row.ts';
import { readApiWait } from '../store/meta.ts';
import { statement } from '../store/tx.ts';
import { guardedReads } from '../views/source-views.ts';
import { accessRefusal, reasonFor, refusals } from '../views/undelivered-views.ts';
import type { DashboardReads } from './catalog.ts';

/** A step, with the clause from which the answer is made: `its BOM item 10 is rejected: the quantity is missing`. */
export interface Step extends WhyStep {
  because: string;
  /** True if the guard holds a read. It keeps unpublished passports back, and is no reason for what the platform has. */
  isGuard?: boolean;
}

/** The optional parts of a step. */
type Rest = Partial<Pick<Step, 'command' | 'item' | 'record' | 'isGuard' | 'advice' | 'cause'>> & {
  /** What to do, in full sentences. Without it, the step has the cure of its advice. */
  cure?: string;
};

/** @param clause the fact without a full stop, so that it can follow `because` */
export function step(standing: WhyStep['standing'], clause: string, { advice = null, ...given }: Rest = {}): Step {
  const { cure = advice?.cure, command = advice?.command ?? null, ...rest } = given;
  const because = clause.replace(/[\s.]+$/, '');
  const said = `${because.slice(0, 1).toUpperCase()}${because.slice(1)}${/[!?…]$/.test(because) ? '' : '.'}`;
  return {
    standing,
    text: cure === undefined ? said : `${said} ${cure}`,
    command,
    item: null,
    record: null,
    cause: null,
    advice,
    ...rest,
    because: firstSentence(because),
  };
}

/** The item that a step is about. */
export function about(kind: SubjectKind, key: string): Pick<WhyStep, 'item'> {
  return { item: { kind, key } };
}

/** Returns the text up to the first full stop, because messages of the platform may have many sentences. */
function firstSentence(text: string): string {
  const end = /[.!?](?=\s+[A-Z])/.exec(text);
  return end === null ? text : text.slice(0, end.index);
}

/** The reads of one answer. A fact about the platform is read once for all items of the answer. */
export interface AnswerReads extends DashboardReads {
  once<Fact>(name: string, read: () => Fact): Fact;
}

export function answerReads(reads: DashboardReads): AnswerReads {
  const facts = new Map<string, unknown>();
  return {
    ...reads,
    once<Fact>(name: string, read: () => Fact): Fact {
      if (!facts.has(name)) facts.set(name, read());
      return facts.get(name) as Fact;
    },
  };
}

export type Delivered = Pick<
  ItemSummary,
  'kind' | 'key' | 'naturalKey' | 'source' | 'state' | 'reason' | 'dueAt' | 'remoteId'
> &
  Partial<Pick<ItemView, 'inOtherForm'>> & { operation?: Operation };

/**
 * The step that shows the state of an item.
 *
 * @param what the name of the item in the text, such as `its BOM item 10`
 * @param unmapped the advice about fields that no mapping gives; null if there are none
 */
export function deliveryStep(reads: AnswerReads, item: Delivered, what: string, unmapped: string | null = null): Step {
  const { kind, key, state, reason, dueAt, remoteId } = item;
  const rest = about(kind, key);
  switch (state) {
    case 'delivered':
      return deliveredStep(item, what);
    case 'superseded': {
      const clause = `a person has ended the last write of ${what}`;
      const advice = adviceOnDelivery(item);
      if (remoteId !== null) return step('ok', `${clause}, and the platform keeps what it has`, { ...rest, advice });
      return step('stop', `${clause}, and the platform does not have it`, { ...rest, advice });
    }
    case 'due':
      return dueStep(reads, item, what);
    case 'sending':
      return step('waits', `${what} is being sent`, rest);
    case 'waiting':
      if (reason?.code === 'guarded')
        return step('waits', `${what} is new, and ${WAITS_FOR_GUARD}`, { ...rest, advice: adviceOnDelivery(item) });
      return step('waits', `${what} waits for an item that it refers to`, rest);
    case 'in_doubt':
      return unconfirmedStep(item, what);
    case 'blocked':
    case 'rejected':
    case 'parked': {
      const isGuarded = isGuardedChange(item, (source) => guarded(reads, source));
      const advice = adviceOnDelivery(item, { isGuarded, unmapped });
      if (isGuarded) {
        const clause = `${what} has changed, and the guard holds a read of its source, from which the change may come`;
        return step('stop', clause, { ...rest, advice });
      }
      const again =
        state === 'blocked' && dueAt !== null ? ` dpp-sync sends the write again at ${formatTime(dueAt)}.` : '';
      const cure = `${advice.cure}${again}`;
      return step('stop', refusedClause(state, what, reason), { ...rest, advice, cure });
    }
  }
}

function dueStep(reads: AnswerReads, item: Delivered, what: string): Step {
  const { kind, key, remoteId, reason, dueAt } = item;
  const rest = about(kind, key);
  const contact = remoteId === null && (kind === 'product' || kind === 'material') ? firstContact(reads, kind) : null;
  if (contact !== null) {
    const clause = `${what} is created only after the platform's list of ${kind}s was read`;
    if (contact.failure === null) return step('waits', clause, rest);
    const advice = adviceOnDelivery({ ...item, reason: contact.failure });
    return step('stop', `${clause}, and that has failed: ${contact.failure.message}`, { ...rest, advice });
  }
  const refused = reason === null ? refusal(reads, item) : hasTrait(reason, 'access_denied') ? reason : null;
  if (refused !== null) {
    const advice = adviceOnDelivery({ ...item, reason: refused });
    return step('stop', `the API refuses ${what}: ${refused.message}`, { ...rest, advice });
  }
  const proof = kind === 'product' && remoteId !== null ? awaitedProof(reads) : null;
  if (proof !== null) {
    const clause = `${what} has changed, and the change is sent only after a list has shown the change of the product ${proof.key}`;
    if (!proof.isHeld) return step('waits', clause, rest);
    return step('stop', `${clause}: ${proof.message}`, {
      ...about('product', proof.key),
      command: `dpp-sync settle --delivered ${shellWord(proof.key)}`,
    });
  }
  const wait = reads.once('wait', () => readApiWait(reads));
  const waits =
    wait === null
      ? ''
      : `, and the API has asked to wait${wait.until === null ? '' : ` until ${formatTime(wait.until)}`}`;
  if (reason === null) {
    return step('waits', `${what} is due${waits}`, {
      ...rest,
      cure: 'The daemon or the next sync sends it.',
    });
  }
  const again = dueAt === null ? 'dpp-sync sends it again.' : `At ${formatTime(dueAt)}, dpp-sync sends it again.`;
  return step('waits', `${what} could not be sent yet${waits}: ${reason.message}`, { ...rest, cure: again });
}

/** A change for whose proof the other changes of products wait: its product, and whether a person has to look at it. */
interface AwaitedProof {
  key: string;
  isHeld: boolean;
  message: string;
}

const SQL = {
  contact: statement<[string], { failure: string | null }>(
    'SELECT failure FROM listings WHERE kind = ? AND needed > 0',
  ),
  proof: statement<[], { key: string; dueAt: number; reason: string }>(
    `SELECT i.key, i.due_at AS dueAt, i.reason FROM items i
     WHERE ${isStuck('i')} AND i.state = 'in_doubt' AND i.operation = 'product.import'
       AND i.reason ->> '$.code' = 'change_proof' ORDER BY i.due_at, i.id LIMIT 1`,
  ),
};

/**
 * Why creates of a kind wait for the platform's list: the last failure to read it, if any. Null if no list has to be
 * read.
 */
function firstContact(reads: AnswerReads, kind: ItemKind): { failure: Reason | null } | null {
  const row = reads.once(`contact ${kind}`, () => SQL.contact(reads).get(kind));
  return row === undefined ? null : { failure: storedReason(row.failure) };
}

/** Why the API refuses deliveries with the same operation, so that this one is not sent; null if it refuses none. */
function refusal(reads: AnswerReads, { kind, key, operation }: Delivered): Reason | null {
  const all = reads.once('refusals', () => refusals(reads));
  if (all.length === 0) return null;
  return operation === undefined ? accessRefusal(reads, { kind, key }) : reasonFor(operation, all);
}

/** The reads of a source that the guard holds. */
function guarded(reads: AnswerReads, source: string) {
  return reads.once(`guarded ${source}`, () => guardedReads(reads, [source]));
}

/** The change that a list has to show before another one is imported; null if there is none. */
function awaitedProof(reads: AnswerReads): AwaitedProof | null {
  const row = reads.once('proof', () => SQL.proof(reads).get());
  if (row === undefined) return null;
  return { key: row.key, isHeld: row.dueAt === 0, message: (storedReason(row.reason) ?? NO_REASON).message };
}

function deliveredStep({ kind, key, inOtherForm: fields = [] }: Delivered, what: string): Step {
  const clause = `the platform has ${what} as its source has it`;
  if (fields.length === 0) return step('ok', clause, about(kind, key));
  return step('ok', `${clause}, but it was sent in another form than the profile has now (${fields.join(', ')})`, {
    ...about(kind, key),
    cure: 'Look at the platform whether it has understood the item. If not, send the item again.',
    command: `dpp-sync replay --form --key ${shellValue(key)}`,
  });
}

function unconfirmedStep(item: Delivered, what: string): Step {
  const { kind, key, reason, dueAt } = item;
  const message = reason === null || reason.message === '' ? '' : `: ${reason.message}`;
  const clause = `${what} was sent, and nothing has confirmed that it arrived${message}`;
  const rest = { ...about(kind, key), advice: adviceOnDelivery(item) };
  if (dueAt === null) return step('stop', clause, rest);
  return step('waits', clause, {
    ...rest,
    cure: `At ${formatTime(dueAt)}, dpp-sync looks the write up.`,
    command: null,
  });
}

type Refused = Extract<ItemState, 'blocked' | 'rejected' | 'parked'>;

/** The platform's message, with the problems of single fields that the message does not contain. */
function saidOf(reason: Reason | null): string {
  if (reason === null) return 'no reason was kept';
  const fields = Object.entries(reason.fields ?? {}).filter(([, words]) => !reason.message.includes(words));
  const message = reason.message.replace(/[\s.]+$/, '');
  if (fields.length === 0) return message;
  return `${message} (${fields.map(([field, words]) => `${field}: ${words}`).join('; ')})`;
}

function refusedClause(state: Refused, what: string, reason: Reason | null): string {
  const said = saidOf(reason);
  if (state === 'rejected') return `${what} is rejected: ${said}`;
  if (state === 'parked') return `${what} was sent too often without success: ${said}`;
  if (reason?.status === 409) return `the platform refuses ${what} by a business rule (409): ${said}`;
  return `${what} is blocked: ${said}`;
}

/** Names an item in a sentence: `its BOM item 10`, `the material M1`. */
export function namedItem({ kind, key }: Pick<ItemSummary, 'kind' | 'key'>): string {
  return kind === 'bom_item' ? `its BOM item ${key}` : `the ${kindWord(kind)} ${key}`;
}

const WAITS_FOR_GUARD = 'it is not created before the guard has decided about its stream';
