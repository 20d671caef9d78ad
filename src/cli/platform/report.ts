import type { Command } from 'commander';
import { reportList } from '../../admin/handlers/platform.ts';
import type { Report } from '../../domain/ports/platform.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { listPlatform } from './platform-list.ts';
import { addReportCreateCommand } from './report-create.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync report list
  $ dpp-sync report list --json | jq '.reports[-1].content'
  $ dpp-sync report create --type completeness`;

export function addReportCommand(program: Command, run: RunAction): void {
  const report = program
    .command('report')
    .description('list the reports of the platform, or ask for one')
    .addHelpText('after', EXAMPLES);
  report
    .command('list')
    .description('list the reports of the platform; --json has their contents')
    .addHelpText(
      'after',
      "\nExamples:\n  $ dpp-sync report list\n  $ dpp-sync report list --json | jq '.reports[-1].content'",
    )
    .action(() => run(list));
  addReportCreateCommand(report, run);
}

function list(context: CommandContext): Promise<number> {
  return listPlatform<Report>(context, {
    command: 'report list',
    member: 'reports',
    columns: [
      { title: 'id', min: 8, max: 36 },
      { title: 'type', min: 14, max: 40 },
      { title: 'state', min: 10, max: 20 },
      { title: 'created', max: 32 },
    ],
    row: ({ id, type, status, createdAt }) => [String(id), type ?? '–', status ?? '–', createdAt ?? '–'],
    none: 'There are no reports.',
    failure: 'The reports cannot be read',
    handler: reportList,
  });
}
