import type { Command } from 'commander';
import { reloadConfig } from '../operations/daemon.ts';
import type { CommandContext, RunAction } from './context.ts';
import { printable } from './text/style.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync reload
  $ dpp-sync reload --json | jq .errors

The daemon reads config, mappings, modules, lookup files and the files of secrets again. It also does so
when one of them changes, and on SIGHUP where it has no terminal. The daemon refuses a config with a problem as a whole and keeps the
former settings: exit code 2.`;

export function addReloadCommand(program: Command, run: RunAction): void {
  program
    .command('reload')
    .addHelpText('after', EXAMPLES)
    .action(() => run(reload));
}

async function reload(context: CommandContext): Promise<number> {
  const { output } = context;
  // A config with a problem is already refused here, with the same message.
  const config = await context.loadConfig();
  const { ok, errors, changed, after } = await context.withAdmin(config, 'reload', (admin) =>
    admin.run(reloadConfig, {}),
  );
  if (output.json) output.document({ ok, errors, changed, after });
  else if (!ok) {
    output.error('The daemon refuses the config, and keeps the former settings:');
    for (const error of errors) output.error(`  ${printable(error)}`);
  } else {
    output.print(changed.length === 0 ? 'Nothing has changed.' : `Changed: ${printable(changed.join(', '))}.`);
    if (after.length > 0) output.print(`Used when the current run has ended: ${printable(after.join(', '))}.`);
  }
  return ok ? 0 : 2;
}
