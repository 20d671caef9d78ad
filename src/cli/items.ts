import { type Command, Option } from 'commander';
import type { LedgerConfig } from '../config/loaded-config.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';
import type { ItemListFilter, ListPage } from '../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../domain/ports/ledger/ledger-standing.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { kindWord, STATES_IN_ORDER, stateWord } from '../domain/words/states.ts';
import { standingAsked } from '../observe/standing.ts';
import { ItemRow } from '../operations/documents.ts';
import { type ListedItem, listedItems } from '../operations/items.ts';
import { assertSources } from '../operations/named.ts';
import { pagesOf, rowDocument } from './answers.ts';
import { subjectKind, wholeNumber } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { decidedLines } from './text/attention.ts';
import { noLedgerText } from './text/standing.ts';
import { type Cell, type Column, formatTable, type TableStyle } from './text/table.ts';
import { formatValue, STATE_COLOURS } from './text/words.ts';

interface ItemsOptions {
  state?: NonNullable<ItemListFilter['state']>;
  kind?: SubjectKind;
  source?: string;
  search?: string;
  limit?: number;
}

const EXAMPLES = `
Examples:
  $ dpp-sync items --state rejected
  $ dpp-sync items --kind product --search TWZ-180
  $ dpp-sync items --state incomplete            which passports wait until their product is complete, and for what
  $ dpp-sync items --json | jq -r 'select(.missing) | .key'

The list has the first 50 items (or --limit). With --json it has all items, as one JSON object a line.
The list is no snapshot: while dpp-sync works, each row shows its item at the moment when the row was read, and an item
that changes meanwhile may be absent from the list of a state.`;

const SHOWN = 50;

export function addItemsCommand(program: Command, run: RunAction): void {
  program
    .command('items')
    .addOption(
      new Option(
        '--state <state>',
        'only items in this state; `missing`: missing from their source, and nobody has decided; `missing_decided`: missing, and nothing has to be decided; `held`: missing from a read that the guard holds; `incomplete`: products that are not complete, so their passports wait; `open`: neither delivered nor superseded; `attention`: a person is needed',
      ).choices([...STATES_IN_ORDER, 'missing', 'missing_decided', 'held', 'incomplete', 'open', 'attention']),
    )
    .addOption(new Option('--kind <kind>', 'only items of this kind').choices(SUBJECT_KINDS).argParser(subjectKind))
    .option('--source <id>', 'only items of this source')
    .option('--search <text>', 'part of a key, a natural key or a name')
    .option('--limit <n>', 'how many at most', wholeNumber(1))
    .addHelpText('after', EXAMPLES)
    .action((options: ItemsOptions) => run((context) => items(options, context)));
}

async function items({ limit, ...filter }: ItemsOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig('ledger');
  if (filter.source !== undefined) assertSources(config, [filter.source]);
  return context.withViews(config, async (opened) => {
    if (opened === null) {
      output.note(noLedgerText(config));
      return 0;
    }
    const most = limit ?? (output.json ? Number.POSITIVE_INFINITY : SHOWN);
    const rows: ListedItem[] = [];
    const read = (page: ListPage) => listedItems(filter, page, opened.reads);
    const isNew = newRows(filter);
    // A page may end before its limit although no row follows, so only a further row shows that there are more.
    for await (const page of pagesOf(read, output.json ? most : most + 1)) {
      const added = page.rows.filter(isNew);
      if (!output.json) rows.push(...added);
      else for (const row of added) if (!(await output.jsonLine(rowDocument(ItemRow, row)))) return 0;
    }
    if (output.json) return 0;
    const hasMore = rows.length > most;
    if (hasMore) rows.length = most;
    if (rows.length === 0) output.note('No item matches.');
    else for (const line of tableOf(rows, output)) if (!(await output.listLine(line))) return 0;
    if (filter.state === 'missing') for (const note of await missingNotes(filter, opened)) output.note(note);
    if (filter.state === 'incomplete' && rows.length > 0) output.note(INCOMPLETE_NOTE);
    if (hasMore)
      output.note(`There are more items: --limit ${(limit ?? SHOWN) * 10} shows more of them, --json all of them.`);
    return 0;
  });
}

/**
 * States whose lists are not in the order of the ids of items, but by state or by reason: an item that changes between two
 * pages may come again.
 */
const MAY_REPEAT: readonly ItemsOptions['state'][] = [
  'open',
  'attention',
  'due',
  'in_doubt',
  'blocked',
  'rejected',
  'parked',
  'incomplete',
];

/** Returns a function that is true for the first row of each item. */
function newRows({ state }: ItemListFilter): (row: ListedItem) => boolean {
  if (!MAY_REPEAT.includes(state)) return () => true;
  const ids = new Set<number>();
  return ({ id }) => {
    const isNew = !ids.has(id);
    ids.add(id);
    return isNew;
  };
}

/** What there is to do about the listed items, and what was done about missing items that are not listed. */
async function missingNotes(
  { kind, source }: ItemListFilter,
  { reads, config }: { reads: Reads; config: LedgerConfig },
): Promise<string[]> {
  const sources = source === undefined ? config.sources.map(({ id }) => id) : [source];
  const { missingOutcomes } = await reads.standing(standingAsked(config, sources));
  const groups = missingOutcomes.filter((group) => (kind ?? group.kind) === group.kind);
  return [...(groups.some(({ outcome }) => outcome === 'kept') ? [MISSING_NOTE] : []), ...decidedLines(groups)];
}

const MISSING_NOTE =
  'The platform has these items, and their sources no longer have them. For the reason and the next step: `dpp-sync show KIND KEY`. To accept all of them: `dpp-sync settle --state missing --ignore`.';

const INCOMPLETE_NOTE = 'For everything that is missing, and the next step: `dpp-sync why KEY`.';

/**
 * Makes the table of items. A natural key is shown if it differs from the key, and a column is shown if it has text.
 */
function tableOf(rows: readonly ListedItem[], style: TableStyle): string[] {
  const columns: Column[] = [
    { title: 'kind' },
    { title: 'key', cut: 'middle' },
    { title: 'natural key', cut: 'middle' },
    { title: 'name', max: 40 },
    { title: 'state' },
    { title: 'remote id', max: 12 },
    { title: 'reason', max: 80 },
  ];
  const cells: (string | Cell)[][] = rows.map(
    ({ kind, key, naturalKey, name, state, missing, remoteId, reason, missingFirst }) => [
      kindWord(kind),
      key,
      naturalKey === key ? '' : (naturalKey ?? ''),
      name ?? '',
      stateCell(state, missing),
      remoteId === null ? '' : formatValue(remoteId),
      missingFirst ?? reason?.message ?? '',
    ],
  );
  const isUsed = columns.map((_, index) => cells.some((row) => row[index] !== ''));
  const used = <T>(list: readonly T[]): T[] => list.filter((_, index) => isUsed[index]);
  return formatTable(used(columns), cells.map(used), style);
}

function stateCell(state: ItemState, missing: boolean): Cell {
  return { text: `${stateWord(state)}${missing ? ', missing' : ''}`, colour: STATE_COLOURS[state] };
}
