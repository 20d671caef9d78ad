import { guardSteps, isGuardedChange } from '../../domain/advice.ts';
import { describePaddedKeys } from '../../domain/attention-words.ts';
import { formatPlace } from '../../domain/issue.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { MissingOutcome } from '../../domain/missing-items.ts';
import type { Attention, ItemCounts, LedgerStanding } from '../../domain/ports/ledger/ledger-views.ts';
import { GONE, kindWord, stateWord } from '../../domain/words/states.ts';
import { shellWord } from '../../lib/text/safe-text.ts';
import { failedRunText } from '../../operations/sentences.ts';
import { contactLines, formLines, repeatedRows, undecidedLines } from './decision-lines.ts';
import { formatCount, type Paint, plural, printable, shorten } from './style.ts';

/** The state of the ledger, with its items. */
export type Standing = LedgerStanding;

/** States that need a person. */
const NEEDING = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
const SHOWN_MAX = 5;
const GUARDED = `${GONE.guarded.meaning} ${GONE.guarded.cure}`;

/**
 * Lines about failed and guarded reads, first contact, waiting deliveries, deliveries and passports that need a person, and
 * quarantined and missing items, and items that were sent in another form. Empty if all is well.
 */
export function attentionLines(standing: Standing, attention: Attention, paint: Paint): string[] {
  const { items, passports, quarantined, suspended } = standing;
  const lines = [...readLines(standing, paint), ...contactLines(suspended, attention, paint)];
  const waiting = countOf(items, ['waiting']);
  if (waiting > 0 && attention.waitingFor.length > 0) {
    const goes = waiting === 1 ? 'dpp-sync sends it' : 'dpp-sync sends them';
    lines.push(
      paint(
        'yellow',
        `${plural(waiting, 'item waits', 'items wait')} for other items to be delivered. After that, ${goes}.`,
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
      ...(needing > 0 ? [plural(needing, 'item', 'items')] : []),
      ...(blocked > 0 ? [plural(blocked, 'passport', 'passports')] : []),
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
        `${plural(incomplete, 'passport waits until its product is', 'passports wait until their products are')} complete.`,
      ),
      '  Which ones, and what is missing first: dpp-sync items --state incomplete',
      '  Everything that is missing for one: dpp-sync why SKU',
    );
  }
  if (quarantined > 0) {
    lines.push(
      paint(
        'yellow',
        `${plural(quarantined, 'row has', 'rows have')} an error and ${quarantined === 1 ? 'was' : 'were'} not sent. ${quarantined === 1 ? 'It is' : 'They are'} kept in quarantine.`,
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
function hasMissing({ missingOutcomes, guarded }: Standing): boolean {
  return (
    missingOutcomes.some(({ outcome }) => !DECIDED.includes(outcome)) || guarded.some(({ missing }) => missing > 0)
  );
}

/** The most characters of the error of a run. The cure stands at its end. */
const RUN_ERROR_SHOWN = 1_000;

/** Lines about sources that could not be read, or whose export looks incomplete. */
function readLines({ failedRuns, guarded }: Standing, paint: Paint): string[] {
  const failed = failedRuns.map(({ source, error }) =>
    paint('red', failedRunText({ source, error: shorten(printable(error), RUN_ERROR_SHOWN) })),
  );
  const held = guarded.map(({ source, stream, message }) =>
    paint('red', `The guard holds ${source}/${stream}: ${printable(message)}`),
  );
  const steps = guarded.flatMap(guardSteps).map(({ text, command }) => `  ${text}: ${command}`);
  return [...failed, ...held, ...new Set(steps)];
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
function paddedLines({ paddedKeys }: Standing): string[] {
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
