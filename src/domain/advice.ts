// What is said about an item or a row that does not go on by itself. `show`, `why`, the causes of the dashboard and the
// admin API say it with these functions, and the page on troubleshooting has the same words, so all of them agree.
import { capitalised, sentence } from '../lib/errors.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import { shellValue, shellWord } from '../lib/text/safe-text.ts';
import { heldText, type WaitingRun } from './approval.ts';
import type { DeliveryState } from './delivery/delivery.ts';
import type { Operation, Scope } from './delivery/operation.ts';
import { hasTrait, isReasonCode, type Reason, type ReasonCode } from './delivery/stored-reason.ts';
import type { Issue } from './issue.ts';
import type { ItemKind, SubjectKind } from './item.ts';
import type { GuardedRead } from './ports/guarded-intake.ts';
import {
  API_TROUBLES,
  GUARD,
  GUARD_TITLES,
  HELD_RUN,
  LOST_ROW,
  MISSING_PARTS,
  MISSING_PARTS_UNREAD,
  type Step,
} from './words/holds.ts';
import { FIELD, wordsOfIssue } from './words/issues.ts';
import { REASONS } from './words/reasons.ts';
import { FAILED_RUN, GONE, kindWord, PASSPORT_WRITES, STATES } from './words/states.ts';
import type { Words } from './words/word.ts';

/** The kinds of causes: what a cause stops, or what it is. */
export const CAUSE_TYPES = [
  'quarantine',
  'blocked',
  'rejected',
  'parked',
  'unconfirmed',
  'part',
  'run',
  'guard',
  'held',
  'api',
] as const;
export type CauseType = (typeof CAUSE_TYPES)[number];

/**
 * Why the API takes no requests, or refuses some. The ledger does not know it, so the process that sends says it when it asks
 * for causes.
 */
export interface ApiTrouble {
  kind: 'unreachable' | 'throttled' | 'denied_key' | 'denied_plan' | 'denied_scope';
  /** The scope that is refused; null if the trouble is about no scope. */
  scope: Scope | null;
  /** The writes that are not sent; null if nothing is sent. */
  operations: readonly Operation[] | null;
  /** What the API has answered; null if it has not. */
  message: string | null;
  since: number | null;
}

/** The words for one case, with the values of its item or row. */
export interface Advice extends Pick<Words, 'title' | 'cure'> {
  /** What the title does not say; null if it says all. */
  meaning: string | null;
  /** What a person can run; null if there is no command. */
  command: string | null;
}

/** The values that the words of an item name. */
interface Named {
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  source: string | null;
}

export interface Delivered extends Named {
  state: DeliveryState;
  reason: Reason | null;
}

/** What is known about a case besides the reason of its delivery. */
interface Known {
  /** True if the guard holds a read from which the change may come. */
  isGuarded?: boolean;
  /** The advice about fields that no mapping gives; null if there are none. */
  unmapped?: string | null;
}

/**
 * The states in which a reason is shown with its own words, each reason in the first one that it may explain. In the other
 * states, the delivery is sent again, looked up or given up, and the words of that state say what to do.
 */
const HOMES = ['blocked', 'rejected', 'in_doubt', 'parked', 'due', 'superseded'] as const;

function isAtHome(code: ReasonCode, state: DeliveryState): boolean {
  const { states } = REASONS[code];
  const home = HOMES.find((one) => states.some((other) => other === one));
  // No delivery has the reason `unlisted`: a due create waits because of it.
  return state === (code === 'unlisted' ? 'due' : code === 'exhausted' ? 'parked' : home);
}

/** What to do about an item, by the reason and the state of its delivery. */
export function adviceOnDelivery(item: Delivered, { isGuarded = false, unmapped = null }: Known = {}): Advice {
  if (isGuarded) return filled(GONE.guarded, item);
  const { kind, state, reason } = item;
  const ofState = (kind === 'passport' ? PASSPORT_WRITES[state] : undefined) ?? STATES[state];
  if (reason === null) return filled(ofState, item);
  const title = titleOfReason(reason) ?? ofState.title;
  if (unmapped !== null)
    return filled({ ...REASONS.gate, title, cure: unmapped, command: 'dpp-sync sync SOURCE' }, item);
  // The create of a new item waits for the guard before it is due.
  const at = state === 'waiting' && reason.code === 'guarded' ? 'due' : state;
  const isOfReason = isAtHome(reason.code, at) && !(kind === 'passport' && state === 'superseded');
  return filled({ ...(isOfReason ? REASONS[reason.code] : ofState), title }, item);
}

/** True if the advice is to decide about a read that the guard holds. What else is known about the item has to wait for that. */
export function isOfGuard({ title }: Advice): boolean {
  return title === GONE.guarded.title;
}

/** An item with what the ledger knows about its rows. */
interface AdvisedItem extends Delivered {
  missing: boolean;
  missingDecided: boolean;
  neverArrived: boolean;
  released: boolean;
  /** The row that makes the item. */
  record: { source: string; quarantined: readonly Issue[] | null } | null;
}

/**
 * What to do about an item, as far as its row or its delivery needs it.
 *
 * @param known.isPublic true if everybody can see the passport of the product
 */
export function adviceOnItem(item: AdvisedItem, known: Known & { isPublic?: boolean }): Advice {
  const { state, missing, neverArrived, released, record } = item;
  const isDone = state === 'delivered' || state === 'superseded';
  if (neverArrived || ((missing || released) && isDone)) return adviceOnGone(item, known);
  const [issue] = missing ? [] : (record?.quarantined ?? []);
  if (issue !== undefined && record !== null) return adviceOnIssue(issue, record.source);
  return adviceOnDelivery(item, known);
}

/** What to do about an item that no row makes any more. */
export function adviceOnGone(item: Named & AdvisedItem, { isPublic = false }: { isPublic?: boolean }): Advice {
  const { missing, missingDecided, neverArrived } = item;
  if (neverArrived) return filled(GONE.never_arrived, item);
  if (!missing) return filled(GONE.released, item);
  if (missingDecided) return filled(GONE.decided, item);
  return filled(isPublic ? GONE.public : GONE.kept, item);
}

/** What to do about an issue of a row. An issue may bring a more exact cure than the one for its code. */
export function adviceOnIssue(issue: Issue, source: string): Advice {
  const known = wordsOfIssue(issue.code);
  return {
    title: titleOfIssue(issue, known?.title),
    meaning: known === null ? sentence(issue.message) : (known.meaning ?? null),
    cure: issue.cure ?? known?.cure ?? 'Correct the row in the source, or the mapping.',
    command: `dpp-sync sync ${shellWord(source)}`,
  };
}

/** The issue with what to do about it: its own cure, or else the one of its code. */
export function withCure(issue: Issue): Issue {
  const cure = issue.cure ?? wordsOfIssue(issue.code)?.cure;
  return cure === undefined ? issue : { ...issue, cure };
}

/** The kind of an item that no row gives; `part` for one that may be a product or a material. */
export type MissingKind = ItemKind | 'part';

/** At most this many sources are named in a sentence. */
const SOURCES_NAMED = 3;

/**
 * What to do about items that no row gives, and that other rows name.
 *
 * @param source the source whose rows name them
 * @param unread sources that may give such items, and that were not read completely yet
 * @param lookedAt how many of the waiting items were looked at; null if all were
 */
export function adviceOnMissingParts(
  kind: MissingKind,
  source: string,
  { unread, lookedAt }: { unread: readonly string[]; lookedAt: number | null },
): Advice {
  const { title, meaning, meaningOfMany, cure, command } = MISSING_PARTS;
  const [first] = unread;
  const noun = kind === 'part' ? 'Part' : capitalised(kindWord(kind));
  return {
    title: (first === undefined ? title : MISSING_PARTS_UNREAD.title).replace('ITEMS', `${noun}s`),
    meaning:
      lookedAt === null ? meaning : `${meaning} ${meaningOfMany.replace('COUNT', lookedAt.toLocaleString('en-US'))}`,
    cure: first === undefined ? cure : `${cureOfUnread(unread)} ${cure}`,
    command: command.replace('SOURCE', () => shellWord(first ?? source)),
  };
}

function cureOfUnread(unread: readonly string[]): string {
  const others = unread.length - SOURCES_NAMED;
  const names = [...unread.slice(0, SOURCES_NAMED), ...(others > 0 ? [counted(others, 'other source')] : [])];
  const last = names.pop() ?? '';
  const { cure, cureOfSeveral } = MISSING_PARTS_UNREAD;
  if (names.length === 0) return cure.replace('SOURCES', () => last);
  return cureOfSeveral.replace('SOURCES', () => `${names.join(', ')} and ${last}`);
}

/** What to do about an export that the guard holds. */
export function adviceOnGuard(read: GuardedRead): Advice {
  const { source, stream, missing, read: rows, released, message, isLeft, isOlder } = read;
  const place = stream === 'default' ? source : `${source}/${stream}`;
  const row = isLeft ? 'left' : isOlder ? 'older' : released > 0 ? 'released' : 'broken';
  const title = GUARD_TITLES[row]
    .replace('PLACE', () => place)
    .replace('ROWS', () => counted(rows, 'row'))
    .replace('MISSING', () => formatCount(missing))
    .replace('ITEMS', () => counted(released, 'item'));
  const steps = guardSteps(read);
  const [first] = steps;
  return {
    title,
    meaning: sentence(message),
    cure: (isLeft ? steps : steps.slice(1)).map(({ text }) => `${text}.`).join(' '),
    command: first?.command ?? null,
  };
}

/** What to do about a row that the read lacks which the guard holds. */
export function cureOfLostRow(source: string, { mayRefuse }: { mayRefuse: boolean }): string {
  const cure = mayRefuse ? `${LOST_ROW.cure} ${LOST_ROW.refuse}` : LOST_ROW.cure;
  return cure.replaceAll('SOURCE', () => source);
}

/** What to do about an API that takes no requests, or refuses some. */
export function adviceOnApi({ kind, scope, message }: ApiTrouble): Advice {
  const { title, meaning, cure, command }: Words = API_TROUBLES[kind];
  return {
    title: scope === null ? title : title.replace('a scope', `the scope ${scope}`),
    meaning:
      [...(message === null ? [] : [sentence(message)]), ...(meaning === undefined ? [] : [meaning])].join(' ') || null,
    cure,
    command: command ?? null,
  };
}

/** What to do about a source whose last run has failed. */
export function adviceOnFailedRun(source: string): Advice {
  const { title, cure, command } = FAILED_RUN;
  const ofSource = command.replace('SOURCE', () => shellWord(source));
  return { title: title.replace('SOURCE', () => source), meaning: null, cure, command: ofSource };
}

const TITLE_MAX = 160;
/** Matches quoted values and numbers, which differ between the members of a cause. */
const OF_ONE_MEMBER = /"[^"]*"|`[^`]*`|\b\d+\b/g;

function firstSentence(message: string): string {
  const [first = ''] = message.replace(OF_ONE_MEMBER, '…').split(/(?<=[.!?])\s/, 1);
  return sentence(first.length > TITLE_MAX ? `${first.slice(0, TITLE_MAX - 1)}…` : first);
}

/** The value of a field in a sentence: `The country of origin`. The name of a column is kept as it is. */
function valueOf(field: string | undefined): string {
  if (field === undefined) return 'The value';
  return /^[a-z_]+$/.test(field) ? `The ${field.replaceAll('_', ' ')}` : `The value of ${field}`;
}

function titleOfIssue({ field, message }: Issue, known: string | undefined): string {
  if (known === undefined) return firstSentence(message);
  if (known.startsWith(FIELD)) return `${known.replace(FIELD, () => valueOf(field))}.`;
  if (known.endsWith('.')) return known;
  return field === undefined ? `${known}.` : `${known} in ${field}.`;
}

/** The platform's messages about single fields are more exact than a title for the code. Null if nothing is known. */
function titleOfReason({ code, message, fields }: Reason): string | null {
  const [field] = Object.entries(fields ?? {});
  if (code === 'gate' && message !== '') return firstSentence(message);
  if (code === 'unknown') return message === '' ? null : firstSentence(message);
  if (field !== undefined) return firstSentence(`The platform refused ${field[0]}: ${field[1]}`);
  return REASONS[code].title;
}

function filled({ title, meaning, cure, command }: Words, item: Named): Advice {
  return {
    title,
    meaning: meaning ?? null,
    cure: cure.replaceAll(/`dpp-sync [^`]*`/g, (one) => filledCommand(one, item)),
    command: command === undefined ? null : filledCommand(command, item),
  };
}

/** A passport has the key of its product, so a command for the passport names its kind. It cannot be ignored, but withdrawn. */
function filledCommand(command: string, { kind, key, naturalKey, source }: Named): string {
  const ofKind =
    kind === 'passport'
      ? command.replace('settle --ignore KEY', 'unpublish SKU').replace(/settle (?!--bom)/, 'settle --kind passport ')
      : command;
  return ofKind
    .replace(/(--key )?\bKEY\b/, (_, option?: string) =>
      option === undefined ? shellWord(key) : `${option}${shellValue(key)}`,
    )
    .replace(/\bSKU\b/, () => shellWord(naturalKey ?? key))
    .replace(/\bSOURCE\b/, () => shellWord(source ?? ''))
    .trimEnd();
}

/** What a person can do about a read that the guard holds. The last step is the only one that accepts the read. */
export function guardSteps({
  source,
  isLeft,
  isOlder,
}: Pick<GuardedRead, 'source'> & { isLeft?: boolean; isOlder?: boolean }): Step[] {
  const { steps } = GUARD[isLeft === true ? 'left' : isOlder === true ? 'older' : 'broken'];
  return steps.map(({ text, command }) => ({ text, command: command.replace('SOURCE', () => source) }));
}

/** What a person can do about a run that would do more than is allowed. */
export function heldSteps({ source }: Pick<WaitingRun, 'source'>): Step[] {
  return HELD_RUN.steps.map(({ text, command }) => ({ text, command: command.replace('SOURCE', () => source) }));
}

/** What to do about a run that would do more than is allowed. */
export function adviceOnHeldRun(run: WaitingRun): Advice {
  const [first, ...others] = heldSteps(run);
  return {
    title: HELD_RUN.title.replace('SOURCE', () => run.source),
    meaning: `It would make ${heldText(run)}. ${HELD_RUN.meaning}`,
    cure: others.map(({ text }) => `${text}.`).join(' '),
    command: first?.command ?? null,
  };
}

/** The steps as sentences. */
export const stepsText = (steps: readonly Step[]): string =>
  steps.map(({ text, command }) => `${text}: \`${command}\`.`).join(' ');

/** The steps of a read that the guard holds, as sentences. */
export const guardAdvice = (read: Parameters<typeof guardSteps>[0]): string => stepsText(guardSteps(read));

/** Changes for which the API has no write, so that a person makes them by hand. They follow from the rows of the source. */
const BY_HAND: ReadonlySet<ReasonCode> = new Set(['unsupported', 'renamed']);

/** What of a cause helps besides sending its members again. */
interface Fitting {
  /** Whether a person has to say what the platform has: it is the way to go on, it is seldom right, or it makes no sense. */
  settling: 'first' | 'seldom' | 'never';
  /** True if the rows, or their mapping, may be at fault. */
  rows: boolean;
}

/** What helps for a cause, by its type and the code of its reason. */
export function fittingFor({ type, code }: { type: CauseType; code: string }): Fitting {
  if (type === 'quarantine') return { settling: 'never', rows: true };
  if (type === 'part' || type === 'run' || type === 'guard' || type === 'held' || type === 'api')
    return { settling: 'never', rows: false };
  const reason = { code: isReasonCode(code) ? code : ('unknown' as const) };
  // Of a write that was surely refused nothing is at the platform.
  const isRefused = type !== 'unconfirmed' && hasTrait(reason, 'made_nothing') && !BY_HAND.has(reason.code);
  return { settling: isRefused ? 'seldom' : 'first', rows: hasTrait(reason, 'row_at_fault') };
}

/**
 * True for a change by hand that may come from a read that the guard holds. Nobody should make it before the guard's decision.
 *
 * @param heldReads the reads of a source that the guard holds
 */
export function isGuardedChange(
  { reason, source }: { reason: Pick<Reason, 'code'> | null; source: string | null },
  heldReads: (source: string) => readonly { source: string }[],
): boolean {
  if (reason === null || source === null || !BY_HAND.has(reason.code)) return false;
  return heldReads(source).some((read) => read.source === source);
}
