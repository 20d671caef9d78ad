import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { fault } from '../../domain/faults.ts';
import { shellWord } from '../../lib/text/shell-word.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { printable } from '../text/style.ts';
import { writeTemplate } from './connector-template.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync connector new acme
  $ dpp-sync connector new acme --dir ./connectors/acme
  $ cd dpp-sync-connector-acme && npm test

The folder holds a connector that works, its tests, a fixture and a config that uses it. See docs/connectors/writing.md.`;

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const NAME_MAX = 64;
const PREFIX = 'dpp-sync-connector-';

export function addConnectorCommands(program: Command, run: RunAction): void {
  const connector = program.command('connector').description('connectors of your own');
  connector
    .command('new')
    .description('make a folder with a connector of your own, which passes the conformance kit')
    .argument('<name>', 'its id: lower-case letters, digits and dashes')
    .option('--dir <folder>', `where it goes (default: ${PREFIX} and the name)`)
    .addHelpText('after', EXAMPLES)
    .action((name: string, options: { dir?: string }) => run((context) => makeConnector(name, options, context)));
}

async function makeConnector(name: string, { dir }: { dir?: string }, context: CommandContext): Promise<number> {
  const { output } = context;
  const id = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
  if (!NAME.test(id) || id.length > NAME_MAX) {
    throw fault('usage', `A connector cannot be called ${JSON.stringify(name)}.`, {
      suggestion: `Use lower-case letters, digits and dashes, at most ${NAME_MAX}, beginning with a letter, such as acme-pim.`,
    });
  }
  const named = dir ?? `${PREFIX}${id}`;
  const folder = resolve(named);
  const { root, version } = context.package;
  const { files, isLinked } = writeTemplate({ folder, root, values: { id, package: `${PREFIX}${id}`, version } });
  if (output.json) output.document({ ok: true, folder, files });
  output.print(`The connector ${id} is in ${printable(folder)}: ${files.join(', ')}.`, '', 'Next:');
  output.print(`  dpp-sync preview catalogue -c ${shellWord(join(named, 'dpp-sync.yaml'))}`);
  // Its tests load the build of the SDK, which a clone of the repository has only after `npm run build`.
  if (!existsSync(join(root, 'dist', 'sdk-testing.js'))) output.print(`  npm --prefix ${shellWord(root)} run build`);
  output.print(`  cd ${shellWord(named)}`);
  if (!isLinked) output.print(`  npm install --save-dev --install-links ${shellWord(root)}`);
  output.print('  npm test');
  return 0;
}
