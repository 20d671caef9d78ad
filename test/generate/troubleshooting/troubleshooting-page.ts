import { DELIVERY_STATES, type DeliveryState } from '../../../src/domain/delivery/delivery.ts';
import { mayExplain, REASON_CODES } from '../../../src/domain/delivery/reason.ts';
import { FAULT_EXIT_CODES, type FaultCode } from '../../../src/domain/faults.ts';
import { FAULT_TEXTS, SANDBOX_FAULT_TEXTS } from './fault-texts.ts';
import { ISSUE_GROUPS } from './issue-texts.ts';
import { REASON_TEXTS } from './reason-texts.ts';

const INTRODUCTION = `<!-- Made from the registries of codes by \`npm run generate\`. The words are in \`test/generate/troubleshooting\`. -->

# Troubleshooting by code

Each error, each reason of a delivery and each issue of a row has a code that stays the same from version to version. Look for the code on
this page. [Operations](operations.md) lists procedures by what you see.

| where you see the code | table |
|---|---|
| an error of a command; \`error.code\` of \`--json\`; \`code\` of the admin API | [errors](#errors) |
| \`dpp-sync show\`, \`items\`, \`why\`; a delivery on the dashboard | [reasons of deliveries](#reasons-of-deliveries) |
| \`dpp-sync quarantine\`, \`preview\`; a row on the dashboard | [issues of rows](#issues-of-rows) |

Where many rows or deliveries have the same cause, the page "Needs attention" of the dashboard shows them as one cause. Correct one row first. Then
\`dpp-sync replay --state quarantined --dry-run\` or \`dpp-sync replay --state rejected --dry-run\` says how many
rows or deliveries would pass now.`;

const ERRORS = `## Errors

The exit code is in the second column. 1 means that the work failed. 2 means that the usage or the config is wrong. 3 means that something
outside of dpp-sync cannot be reached or refuses; all work stays due. With exit code 4 there is no error code: the output names each cause,
and a command that shows its rows or deliveries.`;

const REASONS = `## Reasons of deliveries

A delivery has a reason unless it is delivered. The second column has the states in which a delivery can have the reason.
A delivery that is \`due\` needs no person.
\`in_doubt\` means unconfirmed: the request was sent, and nothing has confirmed that it arrived. A delivery that is \`blocked\`,
\`rejected\` or \`parked\` waits for a change or for a person.`;

const ISSUES = `## Issues of rows

A row with an issue is in quarantine until a run reads it in a corrected form, or until the mapping is corrected. The message of an issue names the
file, the line, the column and the value. A mapping module may use codes of its own; its messages say what they mean.`;

/** The states that the page shows. A delivery keeps its reason while it is sent or waits, so these states are left out. */
const SHOWN_STATES: readonly DeliveryState[] = DELIVERY_STATES.filter(
  (state) => state !== 'waiting' && state !== 'sending' && state !== 'superseded',
);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

export function troubleshootingPage(): string {
  const errors = Object.entries(FAULT_EXIT_CODES).map(([code, exit]) => {
    const { means, cure } = FAULT_TEXTS[code as FaultCode];
    return [`\`${code}\``, String(exit), means, cure];
  });
  for (const [code, { exitCode, means, cure }] of Object.entries(SANDBOX_FAULT_TEXTS))
    errors.push([`\`${code}\``, String(exitCode), means, cure]);
  const reasons = REASON_CODES.map((code) => {
    const states = SHOWN_STATES.filter((state) => mayExplain(code, state)).map((state) => `\`${state}\``);
    const { means, cure } = REASON_TEXTS[code];
    return [`\`${code}\``, states.join(' '), means, cure];
  });
  const issues = ISSUE_GROUPS.map(({ title, codes }) => {
    const rows = Object.entries(codes).map(([code, { means, cure }]) => [`\`${code}\``, means, cure]);
    return `### ${title}\n\n${table(['code', 'means', 'what to do'], rows)}`;
  });
  return [
    INTRODUCTION,
    ERRORS,
    table(['code', 'exit', 'means', 'what to do'], errors),
    REASONS,
    table(['code', 'states', 'means', 'what to do'], reasons),
    ISSUES,
    ...issues,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}
