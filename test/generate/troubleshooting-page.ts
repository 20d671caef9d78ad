import { DELIVERY_STATES, type DeliveryState } from '../../src/domain/delivery/delivery.ts';
import { mayExplain, REASON_CODES } from '../../src/domain/delivery/stored-reason.ts';
import { ALERTS } from '../../src/domain/words/alerts.ts';
import { FAULT_CASES, FAULTS } from '../../src/domain/words/faults.ts';
import {
  API_TROUBLES,
  GUARD,
  HELD_RUN,
  MISSING_PARTS,
  MISSING_PARTS_UNREAD,
  UNREAD_LIST,
  UNUSED_IMPORTS,
} from '../../src/domain/words/holds.ts';
import { ARGUMENT_ISSUES, FIELD, ISSUE_GROUPS } from '../../src/domain/words/issues.ts';
import { REASONS } from '../../src/domain/words/reasons.ts';
import { GONE, STATES, STATES_IN_ORDER, stateWord } from '../../src/domain/words/states.ts';
import type { Words } from '../../src/domain/words/word.ts';
import { SANDBOX_FAULTS } from '../../src/sandbox/storage/sandbox-faults.ts';
import { table } from './markdown-table.ts';

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
| \`dpp-sync status\`; the overview of the dashboard | [what holds work back](#what-holds-work-back) |
| a notice; \`dpp-sync alerts list\` | [alerts](#alerts) |

Where many rows or deliveries have the same cause, the page "Needs attention" of the dashboard shows them as one cause. Correct one row first. Then
\`dpp-sync replay --state quarantined --dry-run\` or \`dpp-sync replay --state rejected --dry-run\` says how many
rows or deliveries would pass now.`;

const ERRORS = `## Errors

The exit code is in the second column. 1 means that the work failed. 2 means that the usage or the config is wrong. 3 means that something
outside of dpp-sync cannot be reached or refuses; all work stays due. With exit code 4 there is no error code: the output names each cause,
and a command that shows its rows or deliveries.`;

const CASES = `### Cases of an error

Some errors have other cures in some cases. The error of such a case says what to do about it.`;

const HOLDS = `## What holds work back

The guard holds a read that looks like a broken export, and a list of the platform may have to be read before anything is created. Such a hold is
no error. \`dpp-sync status\` and the dashboard name it.`;

const ALERTS_TEXT = `## Alerts

[Alerts](alerts.md) says how people get notices. The message of an alert has its facts and ends with what to do. "This
number" and "this time" are the values of the condition under \`alerts.when\` in the config.`;

const REASONS_TEXT = `## Reasons of deliveries

A delivery has a reason unless it is delivered. The second column has the states in which a delivery can have the reason.
A delivery that is \`due\` needs no person.
\`in_doubt\` means unconfirmed: the request was sent, and nothing has confirmed that it arrived. Pages and commands name it *sent,
no answer yet*, \`parked\` *given up* and \`superseded\` *left as it is*. A delivery that is \`blocked\`,
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

/** The cells of a code: its meaning, and what to do about it. */
export function cellsOf({ title, meaning, cure, command, guide }: Words): [string, string] {
  const steps = [
    cure,
    ...(command === undefined ? [] : [`\`${command}\``]),
    ...(guide === undefined ? [] : [`[How to do it](${guide})`]),
  ];
  return [
    `**${title.replace(FIELD, 'The value').replace(/\.$/, '')}.**${meaning === undefined ? '' : ` ${meaning}`}`,
    steps.join(' '),
  ];
}

interface Hold extends Pick<Words, 'title' | 'meaning' | 'guide'> {
  steps: readonly { text: string; command: string }[];
}

/** The words for a read that the guard holds, or for a run that is held: the cure has the steps. */
export function wordsOfHold({ title, steps, ...more }: Hold): Words {
  return { title, ...more, cure: steps.map(({ text, command }) => `${text}: \`${command}\`.`).join(' ') };
}

const WHAT = ['means', 'what to do'];

export function troubleshootingPage(): string {
  const errors = [...Object.entries(FAULTS), ...Object.entries(SANDBOX_FAULTS)].map(([code, fault]) => [
    `\`${code}\``,
    String(fault.exit),
    ...cellsOf(fault),
  ]);
  const cases = Object.entries(FAULT_CASES).flatMap(([code, ofCode]) =>
    Object.values<Words>(ofCode).map((words) => [`\`${code}\``, ...cellsOf(words)]),
  );
  const holds = [
    ...Object.values(GUARD).map((row) => ['the guard holds a read', ...cellsOf(wordsOfHold(row))]),
    ['a run is held', ...cellsOf(wordsOfHold(HELD_RUN))],
    ...Object.values(API_TROUBLES).map((words) => ['the platform takes nothing', ...cellsOf(words)]),
    ['a part is in no file', ...cellsOf({ ...MISSING_PARTS, title: MISSING_PARTS.title.replace('ITEMS', 'Parts') })],
    [
      'a part is in no file',
      ...cellsOf({
        ...MISSING_PARTS,
        title: MISSING_PARTS_UNREAD.title.replace('ITEMS', 'Parts'),
        cure: `${MISSING_PARTS_UNREAD.cure.replace('SOURCES', 'SOURCE')} ${MISSING_PARTS.cure}`,
      }),
    ],
    ...Object.values(UNREAD_LIST).map((words) => ['a list is not read', ...cellsOf(words)]),
    ...Object.values(UNUSED_IMPORTS).map((words) => ['imports are not used', ...cellsOf(words)]),
  ];
  const alerts = Object.entries(ALERTS).map(([condition, words]) => {
    const id = words.about === null ? condition : `${condition}/${words.about}`;
    return [`\`${id}\``, `\`${words.setting}\``, ...cellsOf(words)];
  });
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
    CASES,
    table(['code', ...WHAT], cases),
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
    HOLDS,
    table(['what', ...WHAT], holds),
    ALERTS_TEXT,
    table(['id of the alert', 'condition', ...WHAT], alerts),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}
