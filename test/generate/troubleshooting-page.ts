import { DELIVERY_STATES, type DeliveryState } from '../../src/domain/delivery/delivery.ts';
import { mayExplain, REASON_CODES } from '../../src/domain/delivery/reason.ts';
import { FAULTS } from '../../src/domain/words/faults.ts';
import { ARGUMENT_ISSUES, ISSUE_GROUPS } from '../../src/domain/words/issues.ts';
import { STATES_IN_ORDER, stateWord } from '../../src/domain/words/names.ts';
import { REASONS } from '../../src/domain/words/reasons.ts';
import { GONE, STATES } from '../../src/domain/words/states.ts';
import type { Words } from '../../src/domain/words/word.ts';
import { SANDBOX_FAULTS } from '../../src/sandbox/storage/sandbox-faults.ts';

const INTRODUCTION = `<!-- Made from the registries of codes by \`npm run generate\`. The words are in \`src/domain/words\`. -->

# Troubleshooting by code

Each error, each reason of a delivery and each issue of a row has a code that stays the same from version to version. Look for the code on
this page. \`dpp-sync show\`, \`dpp-sync why\`, the dashboard and the admin API use the same words. In a command, \`KEY\`, \`SKU\` and
\`SOURCE\` stand for the values of the item or the row. [Operations](operations.md) lists procedures by what you see.

| where you see the code | table |
|---|---|
| an error of a command; \`error.code\` of \`--json\`; \`code\` of the admin API | [errors](#errors) |
| \`dpp-sync show\`, \`items\`, \`why\`; a delivery on the dashboard | [reasons of deliveries](#reasons-of-deliveries) |
| the state of an item | [states of items](#states-of-items) |
| \`dpp-sync quarantine\`, \`preview\`; a row on the dashboard | [issues of rows](#issues-of-rows) |

Where many rows or deliveries have the same cause, the page "Needs attention" of the dashboard shows them as one cause. Correct one row first. Then
\`dpp-sync replay --state quarantined --dry-run\` or \`dpp-sync replay --state rejected --dry-run\` says how many
rows or deliveries would pass now.`;

const ERRORS = `## Errors

The exit code is in the second column. 1 means that the work failed. 2 means that the usage or the config is wrong. 3 means that something
outside of dpp-sync cannot be reached or refuses; all work stays due. With exit code 4 there is no error code: the output names each cause,
and a command that shows its rows or deliveries.`;

const REASONS_TEXT = `## Reasons of deliveries

A delivery has a reason unless it is delivered. The second column has the states in which a delivery can have the reason.
A delivery that is \`due\` needs no person.
\`in_doubt\` means unconfirmed: the request was sent, and nothing has confirmed that it arrived. A delivery that is \`blocked\`,
\`rejected\` or \`parked\` waits for a change or for a person.`;

const ITEM_STATES = `## States of items

A delivery without a reason, and a delivery that is sent again or looked up after its reason, has the words of its state.`;

const ISSUES = `## Issues of rows

A row with an issue is in quarantine until a run reads it in a corrected form, or until the mapping is corrected. After a correction,
\`dpp-sync sync SOURCE\` reads the source again. The message of an issue names the
file, the line, the column and the value. A mapping module may use codes of its own; its messages say what they mean.`;

/** The states that the page shows. A delivery keeps its reason while it is sent or waits, so these states are left out. */
const SHOWN_STATES: readonly DeliveryState[] = DELIVERY_STATES.filter(
  (state) => state !== 'waiting' && state !== 'sending' && state !== 'superseded',
);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** The cells of a code: its meaning, and what to do about it. */
export function cellsOf({ title, meaning, cure, command, guide }: Words): [string, string] {
  const steps = [
    cure,
    ...(command === undefined ? [] : [`\`${command}\``]),
    ...(guide === undefined ? [] : [`[How to do it](${guide})`]),
  ];
  return [`**${title.replace(/\.$/, '')}.**${meaning === undefined ? '' : ` ${meaning}`}`, steps.join(' ')];
}

const WHAT = ['means', 'what to do'];

export function troubleshootingPage(): string {
  const errors = [...Object.entries(FAULTS), ...Object.entries(SANDBOX_FAULTS)].map(([code, fault]) => [
    `\`${code}\``,
    String(fault.exit),
    ...cellsOf(fault),
  ]);
  const reasons = REASON_CODES.map((code) => {
    const states = SHOWN_STATES.filter((state) => mayExplain(code, state)).map((state) => `\`${state}\``);
    return [`\`${code}\``, states.join(' '), ...cellsOf(REASONS[code])];
  });
  const states = [
    ...STATES_IN_ORDER.map((state) => [stateWord(state), ...cellsOf(STATES[state])]),
    ...Object.entries(GONE).map(([name, words]) => [`missing: ${name.replaceAll('_', ' ')}`, ...cellsOf(words)]),
  ];
  const issues = Object.entries(ISSUE_GROUPS).map(([title, codes]) => {
    const rows = Object.entries<Words>(codes).map(([code, words]) => [`\`${code}\``, ...cellsOf(words)]);
    return `### ${title}\n\n${table(['code', ...WHAT], rows)}`;
  });
  return [
    INTRODUCTION,
    ERRORS,
    table(['code', 'exit', ...WHAT], errors),
    REASONS_TEXT,
    table(['code', 'states', ...WHAT], reasons),
    ITEM_STATES,
    table(['state', ...WHAT], states),
    ISSUES,
    ...issues,
    '### An argument of a function\n\nThe code begins with the name of the function, such as `country.type`.',
    table(
      ['code', ...WHAT],
      Object.entries(ARGUMENT_ISSUES).map(([problem, words]) => [`\`FUNCTION.${problem}\``, ...cellsOf(words)]),
    ),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}
