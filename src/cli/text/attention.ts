import { guardSteps, heldSteps, isGuardedChange } from '../../domain/advice.ts';
import { heldText } from '../../domain/approval.ts';
import {
  countsOf,
  describePaddedKeys,
  describeUnproven,
  MISSING_WORDS,
  type MissingGroup,
  type MissingOutcome,
} from '../../domain/attention.ts';
import { formatPlace } from '../../domain/issue.ts';
import { ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import type { Suspended } from '../../domain/ports/ledger/contact-ledger.ts';
import type {
  Attention,
  ContactAttention,
  ItemCounts,
  ItemsInOtherForm,
  LedgerStanding,
} from '../../domain/ports/ledger/ledger-standing.ts';
import { GONE, kindWord, stateWord } from '../../domain/words/states.ts';
import type { JsonObject } from '../../lib/json.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { shellWord } from '../../lib/text/safe-text.ts';
import { failedRunText } from '../../operations/results.ts';
import { type Paint, printable, shorten, shortenMiddle } from './style.ts';
import { countKind, formatValue } from './words.ts';

/** States that need a person. */
const NEEDING = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
const SHOWN_MAX = 5;
const GUARDED = `${GONE.guarded.meaning} ${GONE.guarded.cure}`;

/** The document of `status` counts no unconfirmed passports, because they need no person. */
type Shown = Omit<LedgerStanding, 'unconfirmedPassports'>;

/**
 * Lines about failed and guarded reads, first contact, waiting deliveries, deliveries and passports that need a person, and
 * quarantined and missing items, and items that were sent in another form. Empty if all is well.
 */
export function attentionLines(standing: Shown, attention: Attention, paint: Paint): string[] {
  const { items, passports, quarantined, suspended } = standing;
  const lines = [...readLines(standing, paint), ...contactLines(suspended, attention, paint)];
  const waiting = countOf(items, ['waiting']);
  if (waiting > 0 && attention.waitingFor.length > 0) {
    const goes = waiting === 1 ? 'dpp-sync sends it' : 'dpp-sync sends them';
    lines.push(
      paint(
        'yellow',
        `${counted(waiting, 'item waits', 'items wait')} for other items to be delivered. After that, ${goes}.`,
      ),
    );
    for (const { kind, key, state, count, either } of attention.waitingFor.slice(0, SHOWN_MAX)) {
      const why = state === null ? 'which no usable record gives' : `which is ${stateWord(state)}`;
      const what = state === null && either === true ? 'product or material' : kindWord(kind);
      lines.push(`  ${formatCount(count)} for ${what} ${printable(key)}, ${why}`);
    }
    if (attention.waitingFor.length > SHOWN_MAX) lines.push('  … all of them: dpp-sync items --state waiting');
  }
  const { blocked = 0, incomplete = 0 } = passports;
  // A running daemon may settle unconfirmed deliveries between the two counts, so the difference is never less than 0.
  const needingIn = (state: (typeof NEEDING)[number]): number =>
    Math.max(0, countOf(items, [state]) - (state === 'in_doubt' ? attention.awaitingReadBack.count : 0));
  const needing = NEEDING.reduce((sum, state) => sum + needingIn(state), 0);
  if (needing + blocked > 0) {
    const parts = [
      ...(needing > 0 ? [counted(needing, 'item', 'items')] : []),
      ...(blocked > 0 ? [counted(blocked, 'passport', 'passports')] : []),
    ];
    const verb = needing + blocked === 1 ? 'needs' : 'need';
    lines.push(paint('red', `${parts.join(' and ')} ${verb} a person:`));
    for (const stuck of attention.stuck) {
      const { kind, key, naturalKey, state } = stuck;
      const message = isGuardedChange(stuck, () => standing.guarded) ? GUARDED : stuck.reason.message;
      const name = naturalKey === null || naturalKey === key ? key : `${key} (${naturalKey})`;
      const others = stuck.count - 1;
      lines.push(`  ${kindWord(kind)} ${printable(name)} is ${stateWord(state)}: ${shorten(printable(message), 300)}`);
      if (others > 0) lines.push(`    ${formatCount(others)} more ${others === 1 ? 'has' : 'have'} the same reason.`);
    }
    const states = NEEDING.filter((state) => needingIn(state) > 0 || (state === 'blocked' && blocked > 0));
    lines.push(
      ...attention.stuck.slice(0, 1).map(({ kind, key }) => {
        const which = needing + blocked === 1 ? 'it' : 'the first';
        return `  What to do about ${which}: dpp-sync show ${kind} ${printable(shellWord(key))}`;
      }),
      ...states.map((state) => `  All that are ${stateWord(state)}: dpp-sync items --state ${state}`),
    );
  }
  if (incomplete > 0) {
    lines.push(
      paint(
        'yellow',
        `${counted(incomplete, 'passport waits until its product is', 'passports wait until their products are')} complete.`,
      ),
      '  Which ones, and what is missing first: dpp-sync items --state incomplete',
      '  Everything that is missing for one: dpp-sync why SKU',
    );
  }
  if (quarantined > 0) {
    lines.push(
      paint(
        'yellow',
        `${counted(quarantined, 'row has', 'rows have')} an error and ${quarantined === 1 ? 'was' : 'were'} not sent. ${quarantined === 1 ? 'It is' : 'They are'} kept in quarantine.`,
      ),
      '  Which and why: dpp-sync quarantine',
      '  As a file for the people who own the data: dpp-sync quarantine --out quarantine.csv',
      ...(hasMissing(standing) ? [ROWS_BEFORE_MISSING] : []),
    );
  }
  return [
    ...lines,
    ...duplicateLines(attention),
    ...undecidedLines(standing.missingOutcomes, paint),
    ...formLines(standing.otherForms, paint),
    ...paddedLines(standing),
  ];
}

const ROWS_BEFORE_MISSING =
  '  A row whose key cannot be read may be the row of a missing item, so correct these rows before you decide about missing items.';

/** What becomes of missing items if a person has nothing to decide any more. BOM items `with_product` follow their product. */
const DECIDED: readonly MissingOutcome[] = ['accepted', 'with_product', 'ignored'];

/** True if items are missing and a person may still decide about them, or if the guard holds a read that lacks records. */
function hasMissing({ missingOutcomes, guarded }: Shown): boolean {
  return (
    missingOutcomes.some(({ outcome }) => !DECIDED.includes(outcome)) || guarded.some(({ missing }) => missing > 0)
  );
}

/** The most characters of the error of a run. The cure stands at its end. */
const RUN_ERROR_SHOWN = 1_000;

/** Lines about sources that could not be read, or whose export looks incomplete. */
function readLines({ failedRuns, guarded, held: runs }: Shown, paint: Paint): string[] {
  const failed = failedRuns.map(({ source, error }) =>
    paint('red', failedRunText({ source, error: shorten(printable(error), RUN_ERROR_SHOWN) })),
  );
  const held = guarded.map(({ source, stream, message }) =>
    paint('red', `The guard holds ${source}/${stream}: ${printable(message)}`),
  );
  const beyond = runs.flatMap((run) => [
    paint('red', `A run of ${run.source} is held. It would make ${heldText(run)}, and nothing of it is stored.`),
    ...heldSteps(run).map(({ text, command }) => `  ${text}: ${command}`),
  ]);
  const steps = guarded.flatMap(guardSteps).map(({ text, command }) => `  ${text}: ${command}`);
  return [...failed, ...held, ...new Set(steps), ...beyond];
}

/**
 * One line about rows that make the same items as other rows. Rows that make no other item are named, because they may
 * be a mistake.
 */
function duplicateLines({ duplicates: { count, whole, examples } }: Attention): string[] {
  if (count === 0) return [];
  const said = repeatedRows({ count, whole });
  if (said.whole === null) return [`${said.shared}. Nothing has to be done: each item is sent once.`];
  const named = examples.map(
    ({ kind, key, place, first }) =>
      `${printable(formatPlace(place))} (${kindWord(kind)} ${printable(key)}, as ${printable(formatPlace(first))})`,
  );
  const more = whole > named.length ? ', …' : '';
  return [
    `${said.whole}: ${named.join(', ')}${more}. Nothing has to be done: each item is sent once.${said.shared === null ? '' : ` ${said.shared}.`}`,
  ];
}

/** Lines about items that the platform has under a key with padding; empty if there are none. */
function paddedLines({ paddedKeys }: Shown): string[] {
  return paddedKeys.flatMap((keys) => [
    describePaddedKeys(keys, formatCount(keys.count)),
    `  The key that the platform has, and how to change it: dpp-sync show ${keys.kind} ${printable(shellWord(keys.example))}`,
  ]);
}

/** How many items are in these states, of all kinds. */
export function countOf(items: ItemCounts, states: readonly (keyof ItemCounts[ItemKind])[]): number {
  return Object.values(items).reduce(
    (sum, counts) => sum + states.reduce((inner, state) => inner + (counts[state] ?? 0), 0),
    0,
  );
}

// Lines about items that need a decision of a person: items that are missing from their sources, items that the platform
// had before, and items that were sent in another form.

const WITHOUT_A_PERSON = ['unpublishing', 'unpublished', 'not_public', 'accepted', 'with_product'] as const;

/** Lines about missing items that a person has to decide about; empty if there are none. */
function undecidedLines(groups: readonly MissingGroup[], paint: Paint): string[] {
  const counts = countText(groups, 'kept');
  if (counts === '') return [];
  const hasProducts = groups.some(({ kind, outcome }) => kind === 'product' && outcome === 'kept');
  return [
    paint('yellow', `Missing from their sources, and kept at the platform: ${counts}.`),
    '  Which ones: dpp-sync items --state missing',
    '  Why one is missing, and what to do about it: dpp-sync show KIND KEY',
    '  To keep one as it is: dpp-sync settle KEY --ignore',
    ...(hasProducts ? ['  Or, for a product, to withdraw its passport: dpp-sync unpublish SKU'] : []),
  ];
}

/** Lines about missing items for which a person has nothing to do, with what was done; empty if there are none. */
export function decidedLines(groups: readonly MissingGroup[]): string[] {
  const lines = WITHOUT_A_PERSON.flatMap((outcome) => outcomeText(groups, outcome) ?? []);
  if (lines.length === 0) return [];
  const isDecided = groups.some(({ outcome }) => outcome !== 'kept' && outcome !== 'unpublishing');
  return [
    `Missing from their sources, with nothing to decide: ${lines.join('; ')}.`,
    ...(isDecided ? ['  Which ones: dpp-sync items --state missing_decided'] : []),
  ];
}

/** The items with one outcome, such as `2 products unpublished`. Null if there are none. */
export function outcomeText(groups: readonly MissingGroup[], outcome: MissingOutcome): string | null {
  const counts = countText(groups, outcome);
  return counts === '' ? null : `${counts} ${MISSING_WORDS[outcome]}`;
}

function countText(groups: readonly MissingGroup[], outcome: MissingOutcome): string {
  const counts = countsOf(groups.filter((group) => group.outcome === outcome));
  return ITEM_KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [countKind(counts[kind], kind)])).join(', ');
}

const FIELDS_SHOWN = 8;

/** Lines for people about first contact; empty if there is nothing to decide. */
function contactLines(
  suspended: readonly Suspended[],
  { adopted, parts, unproven }: ContactAttention,
  paint: Paint,
): string[] {
  const lines: string[] = [];
  for (const { kind, creates, listed, reason } of suspended) {
    lines.push(paint('yellow', `${countKind(creates, kind)} ${creates === 1 ? 'is' : 'are'} not created yet.`));
    const reading = `  The platform's list of ${kind}s is read first, so that no ${kind} is created twice: ${counted(listed, 'entry', 'entries')} so far.`;
    lines.push(reason === null ? reading : `  ${printable(reason.message)}`);
  }
  for (const { source, kind, items, fields } of adopted) {
    const names = Object.entries(fields).map(([name, count]) => `${printable(name)} (${formatCount(count)})`);
    const more = names.length > FIELDS_SHOWN ? `, and ${names.length - FIELDS_SHOWN} more` : '';
    const verb = items === 1 ? 'was' : 'were';
    lines.push(
      paint('yellow', `${countKind(items, kind)} of ${source} ${verb} at the platform before and would be changed:`),
      `  ${names.slice(0, FIELDS_SHOWN).join(', ')}${more}`,
    );
  }
  for (const source of new Set(adopted.map((one) => one.source))) {
    lines.push(`  dpp-sync writes none of these changes before you accept them: dpp-sync sync --accept ${source}`);
  }
  if (parts.bomItems > 0) {
    lines.push(
      paint(
        'yellow',
        `${countKind(parts.bomItems, 'bom_item')} of ${counted(parts.products, 'product', 'products')} may be at the platform already, and the API cannot be asked.`,
      ),
      '  Look at the platform, then run dpp-sync settle --bom present --all, or --bom absent. To answer for single products, give their SKUs instead of --all.',
    );
  }
  lines.push(...unproven.map((writes) => describeUnproven(writes, formatCount(writes.count))));
  return lines;
}

/**
 * Lines about items that were sent in another form than the profile has now. Empty if there are none. This is not an
 * error: the platform may have understood both forms.
 */
export function formLines(forms: readonly ItemsInOtherForm[], paint: Paint): string[] {
  if (forms.length === 0) return [];
  const lines = forms.map(({ kind, items, fields }) => {
    const were = items === 1 ? 'was' : 'were';
    return paint(
      'yellow',
      `${countKind(items, kind)} ${were} sent in another form than the profile has now: ${fieldList(fields)}.`,
    );
  });
  return [
    ...lines,
    '  How many can be sent again: dpp-sync replay --form --dry-run',
    '  To send them again: dpp-sync replay --form',
  ];
}

/** Names fields, and says how many are left out. */
export function fieldList(fields: readonly string[]): string {
  const more = fields.length > FIELDS_SHOWN ? `, and ${fields.length - FIELDS_SHOWN} more` : '';
  return `${fields.slice(0, FIELDS_SHOWN).map(printable).join(', ')}${more}`;
}

// Lines about the rows of a source.

/** A longer name is cut, so that the values stay below each other and have room. */
const NAME_MAX = 24;

/**
 * The columns of a record that have a value, with all values below each other.
 *
 * @param valueMax the most characters of a value
 */
export function fieldLines(fields: JsonObject, valueMax: number): string[] {
  const filled = Object.entries(fields).filter(([, value]) => value !== '' && value !== null);
  const names = filled.map(([name]) => shortenMiddle(printable(name), NAME_MAX));
  const width = Math.max(0, ...names.map((name) => name.length));
  return filled.map(([, value], at) => `${(names[at] ?? '').padEnd(width)}  ${formatValue(value, valueMax)}`);
}

/**
 * The words of `preview`, `sync` and `status` for rows that make the same items as other rows, with the same values. Null
 * if there are no such rows.
 */
export function repeatedRows({ count, whole }: { count: number; whole: number }): {
  whole: string | null;
  shared: string | null;
} {
  const shared = count - whole;
  return {
    whole: whole === 0 ? null : counted(whole, 'row repeats another row', 'rows repeat another row'),
    shared:
      shared === 0
        ? null
        : `${counted(shared, 'row shares', 'rows share')} an item with another row, with the same values`,
  };
}

/** Warnings about streams whose changes have missed records that the complete read of the same run has found. */
export function missedLines(
  accounts: readonly { source: string; stream: string; missedByChanges: number | null }[],
  paint: Paint,
): string[] {
  return accounts.flatMap(({ source, stream, missedByChanges }) => {
    if (missedByChanges === null || missedByChanges === 0) return [];
    const records = counted(missedByChanges, 'record that is', 'records that are');
    return [
      `${paint('yellow', 'warning:')} The changes of ${printable(source)}/${printable(stream)} had missed ${records} new or different in the complete read. The complete read has stored them.`,
      '  Check what the source counts as a change (its timestamp, its export of changes), or set a shorter snapshotEvery.',
    ];
  });
}
