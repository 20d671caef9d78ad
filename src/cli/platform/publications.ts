import type { Command } from 'commander';
import { publicationList } from '../../admin/handlers/publication-list.ts';
import type { Publication } from '../../domain/ports/platform.ts';
import type { CommandContext, RunAction } from '../context.ts';
import type { Cell } from '../text/table.ts';
import { listPlatform } from './platform-list.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync publications
  $ dpp-sync publications --json | jq -r '.publications[] | select(.isPublic) | .url'

All that the platform lists is shown, regardless of who published it. The ledger is neither needed nor changed.`;

export function addPublicationsCommand(program: Command, run: RunAction): void {
  program
    .command('publications')
    .description('list the publications of passports, as the platform has them')
    .addHelpText('after', EXAMPLES)
    .action(() => run(publications));
}

const COLUMNS = [
  { title: 'SKU', min: 18, max: 36 },
  { title: 'product', min: 8, max: 36 },
  { title: 'state', min: 11, max: 20 },
  { title: 'public' },
  { title: 'published', min: 24, max: 32 },
  { title: 'url', max: 200 },
];

function publications(context: CommandContext): Promise<number> {
  return listPlatform<Publication>(context, {
    command: 'publications',
    member: 'publications',
    columns: COLUMNS,
    row: rowOf,
    none: 'Nothing has been published.',
    failure: 'The publications cannot be read',
    handler: publicationList,
  });
}

function rowOf({ sku, productId, status, isPublic, publishedAt, url }: Publication): (string | Cell)[] {
  return [
    sku ?? '–',
    String(productId ?? '–'),
    status ?? '–',
    isPublic ? { text: 'yes', colour: 'green' } : { text: 'no', colour: 'yellow' },
    publishedAt ?? '–',
    url ?? '–',
  ];
}
