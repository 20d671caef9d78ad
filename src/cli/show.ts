import { Argument, type Command } from 'commander';
import { adviceOnDelivery, isOfGuard } from '../domain/advice.ts';
import { formatPlace } from '../domain/issue.ts';
import type { SubjectKind } from '../domain/item.ts';
import type { ItemView, PassportView } from '../domain/ports/ledger/ledger-views.ts';
import { eventWord, kindWord, stateWord } from '../domain/words/states.ts';
import { memberOf } from '../lib/json.ts';
import { counted } from '../lib/text/amounts.ts';
import { shellWord } from '../lib/text/safe-text.ts';
import { showItem } from '../operations/items.ts';
import { findPastedItem, unknownItem } from '../operations/named.ts';
import { answered } from './answers.ts';
import { subjectKind } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { fieldLines, fieldList } from './text/attention.ts';
import type { Output } from './text/output.ts';
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
  const { output, clock } = context;
  const config = await context.loadConfig('ledger');
  return context.withViews(config, async (opened) => {
    if (opened === null) throw await unknownItem(kind, key, null);
    const asked = { kind, key: await findPastedItem(key, opened.reads, [kind]) };
    const result = await showItem.run(asked, { runtime: opened, clock });
    if (result === null) throw await unknownItem(kind, key, opened.reads);
    return answered(output, { operation: showItem, result }, itemLines(result, output));
  });
}

interface Shown {
  item: ItemView;
  passport?: ShownPassport | null;
}

type ShownPassport = Omit<PassportView, 'blockers'> & { holds: string[] };

function itemLines({ item, passport = null }: Shown, { paint }: Output): string[] {
  const { kind, key, naturalKey, name, state, missing, released, remoteId, reason, record, heldBy, advice } = item;
  const title = [kindWord(kind), key, ...(naturalKey === null || naturalKey === key ? [] : [`(${naturalKey})`])].join(
    ' ',
  );
  const lines = [
    paint('bold', printable(title)) + (name === null ? '' : `  ${printable(name)}`),
    `  state      ${paint(STATE_COLOURS[state], stateWord(state))}${missing ? `, ${missingText(item)}` : ''}${released ? `, ${RELEASED}` : ''}`,
    `  remote id  ${formatValue(remoteId)}`,
    `  revision   ${item.revision}${item.attempts > 0 ? `, ${counted(item.attempts, 'attempt')}` : ''}`,
  ];
  // The platform's message may name a command that is wrong until a person has decided about the guard.
  if (reason !== null && !isOfGuard(advice)) {
    const status = reason.status === undefined ? '' : ` (HTTP ${reason.status})`;
    lines.push(`  reason     ${printable(reason.message)}${status}`);
    for (const [field, message] of Object.entries(reason.fields ?? {}))
      lines.push(`             ${printable(`${field}: ${message}`)}`);
  }
  if (heldBy !== null) {
    const because = heldBy.code === 'unlisted' ? '' : 'not sent, because the API refuses other items: ';
    lines.push(`  reason     ${printable(`${because}${heldBy.message}`)}`);
  }
  if (item.inOtherForm.length > 0) {
    lines.push(
      `  form       ${paint('yellow', `sent in another form than the profile has now: ${fieldList(item.inOtherForm)}`)}`,
    );
  }
  if (item.dueAt !== null) lines.push(`  due        ${formatTime(item.dueAt)}`);
  // The message of the platform may say the title already.
  const isSaid = reason?.message.startsWith(advice.title) === true;
  const means = [...(isSaid ? [] : [advice.title]), ...(advice.meaning === null ? [] : [advice.meaning])].join(' ');
  lines.push(
    ...(means === '' ? [] : [`  means      ${printable(means)}`]),
    `  next step  ${printable(`${advice.cure}${formerWrite(item)}`)}`,
    ...(advice.command === null ? [] : [`             ${paint('cyan', printable(advice.command))}`]),
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
    for (const issue of record.quarantined ?? []) {
      lines.push(`  ${paint('red', `error: ${formatIssue(issue, { fields: record.fields })}`)}`);
      if (issue.cure !== undefined) lines.push(`    ${printable(issue.cure)}`);
    }
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
function passportLines({ kind, key }: ItemView, passport: ShownPassport, paint: Output['paint']): string[] {
  const { state, acknowledged, desired, reason, holds } = passport;
  const far = state === 'blocked' && acknowledged !== null ? `, ${stateWord(acknowledged)} so far` : '';
  const lines = [`${paint('bold', 'Passport')}  ${paint(PASSPORT_COLOURS[state], stateWord(state))}${far}`];
  if (kind === 'passport' && desired !== null) {
    lines.push(`  wanted: ${stateWord(desired.status)}, ${WANTED_BY[desired.because]}`);
  }
  // For a product the lines about the passport already show the reason above.
  if (kind === 'product' && reason !== null) {
    lines.push(
      `  ${printable(reason.message)}`,
      `  For its timeline: dpp-sync show passport ${printable(shellWord(key))}`,
    );
  }
  if (holds.length > 0 && acknowledged !== 'published') {
    lines.push('  The passport waits until its product is complete:', ...holds.map((hold) => `  - ${printable(hold)}`));
  }
  return lines;
}

const MISSING_BECAUSE = {
  row_gone: 'missing from its source, whose row is gone',
  row_changed: 'missing from its source: no row makes it any more',
} as const;

const RELEASED = 'no row makes it any more, and the guard has not decided whether the item is missing';

function missingText({ kind, missingBecause, missingAccepted, missingDecided, neverArrived }: ItemView): string {
  const why = missingBecause === null ? '' : MISSING_BECAUSE[missingBecause];
  if (missingAccepted) return `${why}, which a person has accepted`;
  if (neverArrived || !missingDecided) return why;
  return kind === 'bom_item'
    ? `${why}, and it is decided with its missing product`
    : `${why}, and its passport is not public`;
}

/** What to do about the write from before the row was quarantined; empty if no row of the item is quarantined. */
function formerWrite(item: ItemView): string {
  if (item.missing || (item.record?.quarantined ?? null) === null) return '';
  if (item.state === 'delivered')
    return ' Its row has an error. Until the next sync maps the row again, the platform keeps what it has.';
  const { cure, command } = adviceOnDelivery({ ...item, reason: item.reason ?? item.heldBy });
  return ` For the write from before the error: ${cure}${command === null ? '' : ` \`${command}\``}`;
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
