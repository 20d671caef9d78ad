import type { ApiClient } from '../api/api-client.ts';
import { fault } from '../domain/faults.ts';
import type { Listing } from '../domain/ports/target.ts';
import type { CommandContext } from './context.ts';
import { outcomeFault } from './outcome-fault.ts';
import type { Output } from './output.ts';
import { type Cell, type Column, formatTable } from './style.ts';

/** A list of the platform, and how it is shown. */
export interface PlatformList<Entry> {
  /** What the document calls the entries. */
  member: string;
  columns: readonly Column[];
  row(entry: Entry): (string | Cell)[];
  /** What is said where there are none. */
  none: string;
  /** What is said where the list cannot be read, as the beginning of a sentence. */
  failure: string;
  read(client: ApiClient, onPage: (entries: Entry[]) => void, signal: AbortSignal): Promise<Listing>;
}

/**
 * Shows a list of the platform: a table for people, each page as it comes, or one document. Half a list ends in an error,
 * and in no document, since nobody could tell it from a whole one.
 */
export async function listPlatform<Entry>(context: CommandContext, list: PlatformList<Entry>): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  const interruption = context.interruption();
  const gone = new AbortController();
  const signal = AbortSignal.any([interruption, gone.signal]);
  const table = createPagedTable(output, list.columns, () => gone.abort());
  const entries: Entry[] = [];
  let count = 0;

  const listing = await context.withClient(config, (client) =>
    list.read(
      client,
      (page) => {
        count += page.length;
        if (output.json) entries.push(...page);
        else table.add(page.map((entry) => list.row(entry)));
      },
      signal,
    ),
  );
  await table.written();
  if (gone.signal.aborted) return 0;
  if (!listing.complete) {
    if (interruption.aborted) throw fault('interrupted', 'Stopped before it was done.');
    throw outcomeFault(listing.outcome, {
      failure: list.failure,
      cure: 'See whether target.baseUrl is the address of the platform, and the profile that of its API.',
    });
  }
  if (output.json) output.document({ ok: true, [list.member]: entries });
  else if (count === 0) output.note(list.none);
  return 0;
}

/** Prints the pages of a table below each other, in their order. `onGone` is called once nobody reads any more. */
function createPagedTable(output: Output, columns: readonly Column[], onGone: () => void) {
  let writing: Promise<boolean> = Promise.resolve(true);
  let isFirst = true;

  async function write(lines: readonly string[], before: Promise<boolean>): Promise<boolean> {
    if (!(await before)) return false;
    for (const line of lines) {
      if (await output.listLine(line)) continue;
      onGone();
      return false;
    }
    return true;
  }

  return {
    add(rows: (string | Cell)[][]): void {
      const [titles = '', ...lines] = formatTable(columns, rows, output.paint);
      writing = write(isFirst ? [titles, ...lines] : lines, writing);
      isFirst = false;
    },
    written: () => writing,
  };
}
