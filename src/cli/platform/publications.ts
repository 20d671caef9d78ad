import type { Command } from 'commander';
import type { Publication } from '../../domain/ports/platform.ts';
import { publicationList } from '../../operations/platform.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { formatTime } from '../text/style.ts';
import type { Cell, Column } from '../text/table.ts';
import { listPlatform } from './platform-list.ts';

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
