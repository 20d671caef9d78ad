import { Argument, type Command } from 'commander';
import { findPastedItem, unknownItem } from '../admin/named.ts';
import { passportRulesOf } from '../daemon/passport-rules.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import type { Reason } from '../domain/delivery/reason.ts';
import { GUARDED_CHANGE, isGuardedChange } from '../domain/guard-advice.ts';
import type { SubjectKind } from '../domain/item.ts';
import { formatPlace } from '../domain/place.ts';
import type { ItemView, PassportView } from '../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { unmappedCure } from '../domain/unmapped-fields.ts';
import { eventWord, kindWord, stateWord } from '../domain/words.ts';
import { memberOf } from '../lib/json.ts';
import { shellValue, shellWord } from '../lib/text/shell-word.ts';
import { subjectKind } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { isoTime, itemDocument, reasonDocument } from './text/documents.ts';
import { fieldList } from './text/item-lines.ts';
import { nextStepOf } from './text/next-steps.ts';
import type { Output } from './text/output.ts';
import { fieldLines } from './text/row-lines.ts';
import { formatTime, printable } from './text/style.ts';
import { formatIssue, formatValue, PASSPORT_COLOURS, STATE_COLOURS } from './text/words.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync show product TWZ-180-LS            by SKU, or by the key that the mapping gives
  $ dpp-sync show material 000000000030000107
  $ dpp-sync show bom_item 00012001/0010 --json
  $ dpp-sync show passport TWZ-180-LS               by its product`;

export function addShowCommand(program: Command, run: RunAction): void {
  program
    .command('show')
    .description("one item: the wanted values, the platform's values, what it waits for, its timeline")
    .addArgument(new Argument('<kind>', 'product, material, bom_item or passport').argParser(subjectKind))
    .argument('<key>', 'its key, or its SKU or code')
    .addHelpText('after', EXAMPLES)
    .action((kind: SubjectKind, key: string) => run((context) => show(kind, key, context)));
}

async function show(kind: SubjectKind, key: string, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig('ledger');
  return context.withViews(config, async (opened) => {
    const reads = opened?.reads ?? null;
    const item = reads && (await reads.item(kind, await findPastedItem(key, reads, [kind])));
    if (reads === null || item === null) throw await unknownItem(kind, key, reads);
    const ofProduct = kind === 'product' || kind === 'passport';
    const passport = ofProduct ? await reads.passport(item.key) : null;
    if (output.json) {
      const document = {
        ...itemDocument(item),
        timeline: item.timeline.map((entry) => ({ ...entry, at: isoTime(entry.at) })),
      };
      output.document({ ok: true, item: document, ...(ofProduct ? { passport: passportDocument(passport) } : {}) });
    } else {
      const step = await ruleStep(item, reads, config);
      const held = await heldBy(item, reads);
      const isGuarded = isGuardedChange(item, await reads.guardedReads());
      output.print(...itemLines(item, { passport, step, held, isGuarded }, output));
    }
    return 0;
  });
}

/** What keeps an item from its first attempt although it is due. */
interface Held {
  text: string;
  reason: Reason;
}

async function heldBy(item: ItemView, reads: Pick<Reads, 'accessRefusal' | 'suspended'>): Promise<Held | null> {
  const { kind, state, remoteId, source } = item;
  if (state !== 'due' || item.reason !== null) return null;
  const suspended = remoteId === null && source !== null ? await reads.suspended([source]) : [];
  const unlisted = suspended.find((one) => one.kind === kind)?.reason ?? null;
  if (unlisted !== null) return { text: unlisted.message, reason: unlisted };
  const refusal = await reads.accessRefusal(item);
  return refusal === null
    ? null
    : { text: `not sent, because the API refuses other items: ${refusal.message}`, reason: refusal };
}

/** What to do about a passport that a business rule refuses for a field that no mapping gives; null for all others. */
async function ruleStep(
  { kind, key, state, reason }: ItemView,
  reads: Pick<Reads, 'item'>,
  config: RuntimeConfig,
): Promise<string | null> {
  if (kind !== 'passport' || state !== 'blocked' || reason === null) return null;
  const record = (await reads.item('product', key))?.record ?? null;
  const cure = unmappedCure(reason, record, passportRulesOf(config).mappedFields);
  return cure === null ? null : `${cure} Then run \`dpp-sync sync ${shellWord(record?.source ?? '')}\`.`;
}

function passportDocument(passport: PassportView | null): object | null {
  if (passport === null) return null;
  const { blockers, reason, ...rest } = passport;
  return { ...rest, reason: reasonDocument(reason), holds: blockers };
}

/**
 * @param known.step a next step that is more exact than the one for the state of the item, or null
 * @param known.held what keeps the item from its first attempt, or null
 * @param known.isGuarded whether the change may come from a read that the guard holds
 */
function itemLines(
  item: ItemView,
  {
    passport,
    step,
    held,
    isGuarded,
  }: { passport: PassportView | null; step: string | null; held: Held | null; isGuarded: boolean },
  { paint }: Output,
): string[] {
  const { kind, key, naturalKey, name, state, missing, released, remoteId, reason, record } = item;
  const title = [kindWord(kind), key, ...(naturalKey === null || naturalKey === key ? [] : [`(${naturalKey})`])].join(
    ' ',
  );
  const lines = [
    paint('bold', printable(title)) + (name === null ? '' : `  ${printable(name)}`),
    `  state      ${paint(STATE_COLOURS[state], stateWord(state))}${missing ? `, ${missingText(item)}` : ''}${released ? `, ${RELEASED}` : ''}`,
    `  remote id  ${formatValue(remoteId)}`,
    `  revision   ${item.revision}${item.attempts > 0 ? `, ${item.attempts} attempts` : ''}`,
  ];
  if (reason !== null) {
    const status = reason.status === undefined ? '' : ` (HTTP ${reason.status})`;
    lines.push(`  reason     ${printable(isGuarded ? GUARDED_CHANGE.reason : reason.message)}${status}`);
    for (const [field, message] of Object.entries(reason.fields ?? {}))
      lines.push(`             ${printable(`${field}: ${message}`)}`);
  }
  if (held !== null) lines.push(`  reason     ${printable(held.text)}`);
  if (item.inOtherForm.length > 0) {
    lines.push(
      `  form       ${paint('yellow', `sent in another form than the profile has now: ${fieldList(item.inOtherForm)}`)}`,
    );
  }
  if (item.dueAt !== null) lines.push(`  due        ${formatTime(item.dueAt)}`);
  lines.push(
    `  next step  ${printable(withKey(isGuarded ? GUARDED_CHANGE.step : (step ?? nextStep({ ...item, reason: reason ?? held?.reason ?? null }, passport)), key))}`,
  );

  if (passport !== null) lines.push('', ...passportLines(item, passport, paint));

  if (kind !== 'passport') {
    lines.push(
      '',
      paint(
        'bold',
        item.baseline === null
          ? 'Wanted by the source, and not acknowledged by the platform yet'
          : 'Wanted by the source and acknowledged by the platform',
      ),
      ...payloadLines(item, paint),
    );
  }
  if (item.refs.length > 0) {
    lines.push('', paint('bold', 'Refers to'));
    for (const ref of item.refs) {
      const where =
        ref.state === null
          ? paint('yellow', 'which no record gives')
          : paint(STATE_COLOURS[ref.state], stateWord(ref.state));
      const what = ref.either === true && ref.state === null ? 'product or material' : kindWord(ref.kind);
      lines.push(`  ${ref.role.padEnd(10)} ${what} ${printable(ref.key)}: ${where}`);
    }
  }
  if (record !== null) {
    lines.push(
      '',
      `${paint('bold', 'Record')}  ${record.source}/${record.stream}, ${printable(formatPlace(record.place))}`,
    );
    lines.push(...fieldLines(record.fields, 120).map((line) => `  ${line}`));
    for (const issue of record.quarantined ?? [])
      lines.push(`  ${paint('red', `quarantined: ${formatIssue(issue, { fields: record.fields })}`)}`);
  }
  lines.push('', paint('bold', 'Timeline'));
  for (const { at, what, operation, revision, detail } of item.timeline) {
    const of = operation === null ? '' : ` ${operation}${revision === null ? '' : `, revision ${revision}`}`;
    lines.push(`  ${formatTime(at)}  ${eventWord(what)}${of}${detail === null ? '' : `: ${printable(detail)}`}`);
  }
  return lines;
}

const WANTED_BY = {
  policy: 'because the config says so for complete products',
  person: 'because a person has asked for it',
  missing: 'because the source no longer has the product',
} as const;

/** The state of a product's passport, with all reasons why it has to wait. */
function passportLines({ kind, key }: ItemView, passport: PassportView, paint: Output['paint']): string[] {
  const { state, acknowledged, desired, reason, blockers } = passport;
  const far = state === 'blocked' && acknowledged !== null ? `, ${acknowledged} so far` : '';
  const lines = [`${paint('bold', 'Passport')}  ${paint(PASSPORT_COLOURS[state], state)}${far}`];
  if (kind === 'passport' && desired !== null) {
    lines.push(`  wanted: ${desired.status}, ${WANTED_BY[desired.because]}`);
  }
  // For a product the lines about the passport already show the reason above.
  if (kind === 'product' && reason !== null) {
    lines.push(
      `  ${printable(reason.message)}`,
      `  For its timeline: dpp-sync show passport ${printable(shellWord(key))}`,
    );
  }
  if (blockers.length > 0 && acknowledged !== 'published') {
    lines.push(
      '  The passport waits until its product is complete:',
      ...blockers.map((blocker) => `  - ${printable(blocker)}`),
    );
  }
  return lines;
}

/** Puts the key into a step, so that its commands can be pasted into a shell. */
function withKey(step: string, key: string): string {
  return step.replaceAll(/(--key )?KEY/g, (_, option?: string) =>
    option === undefined ? shellWord(key) : `${option}${shellValue(key)}`,
  );
}

const MISSING_BECAUSE = {
  row_gone: 'missing from its source, whose row is gone',
  row_changed: 'missing from its source: no row makes it any more',
} as const;

/** What there is to do about a missing item that the platform never got. */
function goneStep({ timeline }: ItemView): string {
  const wasSent = timeline.some(({ what }) => what === 'sent');
  return `Its row is gone, and ${wasSent ? 'no write of it has arrived' : 'nothing was ever sent'}: nothing has to be done. If its row comes back, dpp-sync sends the item.`;
}

const RELEASED = 'no row makes it any more, and the guard has not decided whether the item is missing';

function missingText({ kind, missingBecause, missingAccepted, missingDecided, neverArrived }: ItemView): string {
  const why = missingBecause === null ? '' : MISSING_BECAUSE[missingBecause];
  if (missingAccepted) return `${why}, which a person has accepted`;
  if (neverArrived || !missingDecided) return why;
  return kind === 'bom_item'
    ? `${why}, and it is decided with its missing product`
    : `${why}, and its passport is not public`;
}

const KEPT = 'The platform keeps it, since no write of the API deletes it.';
const BACK = 'The item counts as present again when a row makes it.';
const ACCEPT = `To accept that, run \`dpp-sync settle --ignore KEY\`. ${BACK}`;

/** What a person can do about an item that the platform has and its source does not. */
const MISSING_STEPS: Record<SubjectKind, string> = {
  product: `${KEPT} ${ACCEPT}`,
  material: `${KEPT} ${ACCEPT}`,
  bom_item: `${KEPT} Remove it at the platform by hand if the passport must not show it. ${ACCEPT}`,
  passport: `${KEPT} To withdraw it, run \`dpp-sync unpublish KEY\`.`,
};

const MISSING_PUBLIC_STEP = `${KEPT} One command is enough. To withdraw its passport, run \`dpp-sync unpublish KEY\`, or set \`onMissing: unpublish\`. To leave its passport public, run \`dpp-sync settle --ignore KEY\`. ${BACK}`;
const DECIDED_STEP = `Nothing: the platform keeps it, since no write of the API deletes it. ${BACK}`;

/** What a person can do about an item about which the guard has not decided. */
const RELEASED_STEP =
  'The item counts as present until the guard has decided about the items that no row makes any more. `dpp-sync status` shows why the guard holds them, and what to do.';

/**
 * The next step for a person. An item with a quarantined row keeps its former state, so its next step begins with the
 * row.
 */
function nextStep(item: ItemView, passport: PassportView | null): string {
  const { kind, state, missing, missingDecided, neverArrived, released, record } = item;
  if (neverArrived) return goneStep(item);
  const step = nextStepOf(item);
  const isDone = state === 'delivered' || state === 'superseded';
  if (released && isDone) return RELEASED_STEP;
  if (missing && isDone) {
    if (missingDecided) return DECIDED_STEP;
    return kind === 'product' && passport?.acknowledged === 'published' ? MISSING_PUBLIC_STEP : MISSING_STEPS[kind];
  }
  if (missing || (record?.quarantined ?? null) === null) return step;
  const cure =
    'Its row is quarantined. Correct the row in the source, or the mapping: the next sync maps the row again.';
  if (state === 'delivered') return `${cure} Until then the platform keeps what it has.`;
  return `${cure} For the write from before the quarantine: ${step}`;
}

/** Lines with each field: one value if desired and baseline are equal, both values if they differ. */
function payloadLines({ desired, baseline }: ItemView, paint: Output['paint']): string[] {
  const names = [...new Set([...Object.keys(desired), ...Object.keys(baseline ?? {})])];
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.flatMap((name) => {
    const wanted = formatValue(memberOf(desired, name), 300);
    const known = baseline === null ? null : formatValue(memberOf(baseline, name), 300);
    const label = `  ${name.padEnd(width)}  `;
    if (known === wanted) return [`${label}${wanted}`];
    return [
      `${label}${paint('yellow', wanted)}`,
      ...(known === null ? [] : [`${' '.repeat(label.length)}${paint('dim', `the platform has: ${known}`)}`]),
    ];
  });
}
