import { resolve } from 'node:path';
import type { Command } from 'commander';
import { restoreLedger } from '../../ledger/backup/restore.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { plural, printable } from '../text/style.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync ledger restore /backup/ledger-2027-01-15.db      put a backup in the ledger's place
  $ dpp-sync ledger restore                                   the ledger was put back by other means

Stop the daemon first. The former ledger is kept beside the new one. Then run \`dpp-sync sync\`: it looks up at the platform what
was sent since the backup. BOM items that may have been sent since the backup stay unconfirmed until a person settles them.`;

export function addLedgerRestoreCommand(ledger: Command, run: RunAction): void {
  ledger
    .command('restore')
    .description("put a backup in the ledger's place; the next sync looks up what was sent since the backup")
    .argument('[file]', 'a backup; the default is the file that is in place already')
    .addHelpText('after', EXAMPLES)
    .action((file: string | undefined) => run((context) => restore(file, context)));
}

async function restore(named: string | undefined, context: CommandContext): Promise<number> {
  const { output, clock } = context;
  const { ledger: file, target, profile } = await context.loadConfig();
  const from = named === undefined ? null : resolve(named);
  const report = (_fields: object, message: string) => output.note(printable(message));
  const { toLookUp, kept } = restoreLedger({ file, from, target: target.baseUrl, profile, clock, report });
  if (output.json) output.document({ ok: true, file, from, kept, suspected: toLookUp });
  const count = Object.values(toLookUp).reduce((sum, one) => sum + one, 0);
  output.print(
    `The ledger ${printable(file)} is restored${from === null ? '' : ` from ${printable(from)}`}.`,
    ...(kept === null ? [] : [`The former ledger is kept as ${printable(kept)}.`]),
    ...(count === 0 ? [] : [`${plural(count, 'write')} that may have been made since the backup will be looked up.`]),
  );
  output.note(
    'Run `dpp-sync sync` now: it reads every source, looks up the items at the platform, and sends each item in full once.',
  );
  return 0;
}
