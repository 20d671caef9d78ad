import type { Command } from 'commander';
import type { Listing, Publication } from '../../domain/ports/target.ts';
import type { FileOperation } from '../../operations/operation.ts';
import { outcomeFault } from '../../operations/outcome-fault.ts';
import { publicationList } from '../../operations/platform.ts';
import type { CommandContext, RunAction } from '../context.ts';
import type { Output } from '../text/output.ts';
import { formatTime } from '../text/style.ts';
import { type Cell, type Column, formatTable } from '../text/table.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync publications
  $ dpp-sync publications --json | jq -r '.publications[] | select(.isPublic) | .url'

All publications of the platform are shown, no matter who published them. The ledger is neither needed nor changed.`;

export function addPublicationsCommand(program: Command, run: RunAction): void {
  program
    .command('publications')
    .addHelpText('after', EXAMPLES)
    .action(() => run(publications));
}

const COLUMNS: readonly Column[] = [
  { title: 'SKU', min: 18, max: 36, cut: 'middle' },
  { title: 'product', min: 8, max: 36, cut: 'middle' },
  { title: 'state', min: 11, max: 20 },
  { title: 'public' },
  { title: 'published', min: 19, max: 32 },
  { title: 'url', whole: true },
];

function publications(context: CommandContext): Promise<number> {
  return listPlatform<Publication>(context, {
    command: 'publications',
    member: 'publications',
    columns: COLUMNS,
    row: rowOf,
    none: 'Nothing has been published.',
    failure: 'The publications cannot be read',
    operation: publicationList,
  });
}

/** A time in the form that the other commands use. Another text of the platform is shown unchanged. */
function timeCell(text: string): string {
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? text : formatTime(at);
}

function rowOf({ sku, productId, status, isPublic, publishedAt, url }: Publication): (string | Cell)[] {
  return [
    sku ?? '–',
    String(productId ?? '–'),
    status ?? '–',
    isPublic ? { text: 'yes', colour: 'green' } : { text: 'no', colour: 'yellow' },
    publishedAt === null ? '–' : timeCell(publishedAt),
    url ?? '–',
  ];
}

/** A list of the platform, and the form in which it is shown. */
interface PlatformList<Entry> {
  command: string;
  /** The name of the entries in the JSON document. */
  member: string;
  columns: readonly Column[];
  row(entry: Entry): (string | Cell)[];
  /** The message for an empty list. */
  none: string;
  /** The beginning of the message for a list that cannot be read. */
  failure: string;
  /** The operation that gives pages as lines, in the form of `readList`. */
  operation: FileOperation<Record<string, never>, Listing>;
}

/**
 * Shows a list of the platform: a table for people, each page as it comes, or one document. If the list cannot be read
 * to its end, an error is shown and no document, because the document would look complete.
 */
export async function listPlatform<Entry>(context: CommandContext, list: PlatformList<Entry>): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  const table = createPagedTable(output, list.columns);
  const linesOf = createLineSplitter();
  const entries: Entry[] = [];
  let count = 0;
  let isGone = false;

  async function onBytes(chunk: Uint8Array): Promise<void> {
    for (const line of linesOf(chunk)) {
      const page = JSON.parse(line) as Entry[];
      count += page.length;
      if (output.json) entries.push(...page);
      else isGone = !(await table.add(page.map((entry) => list.row(entry))));
      if (isGone) throw new Error('The reader of stdout has ended.');
    }
  }

  let listing: Listing;
  try {
    listing = await context.withPlatform(config, list.command, (admin) => admin.run(list.operation, {}, { onBytes }));
  } catch (error) {
    // It is not an error if the reader closes the pipe early.
    if (isGone) return 0;
    throw error;
  }
  if (!listing.complete) {
    throw outcomeFault(listing.outcome, {
      failure: list.failure,
      cure: 'Check that target.baseUrl is the address of the platform, and that the profile fits its API.',
    });
  }
  if (output.json) output.document({ ok: true, [list.member]: entries });
  else if (count === 0) output.note(list.none);
  return 0;
}

/** Prints the pages of a table below each other. `add` returns false after the reader has ended. */
function createPagedTable(output: Output, columns: readonly Column[]) {
  let isFirst = true;
  return {
    async add(rows: (string | Cell)[][]): Promise<boolean> {
      const [titles = '', ...lines] = formatTable(columns, rows, output);
      for (const line of isFirst ? [titles, ...lines] : lines) {
        if (!(await output.listLine(line))) return false;
      }
      isFirst = false;
      return true;
    },
  };
}

/** Cuts UTF-8 that comes in pieces into lines. The part after the last line break is kept for the next piece. */
export function createLineSplitter(): (chunk: Uint8Array) => string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    return lines;
  };
}
