import type { Command } from 'commander';
import { backUpLedger } from '../../ledger/backup/backup.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { formatBytes, printable } from '../text/style.ts';
import { countKind } from '../text/words.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync ledger backup /backup/ledger-2027-01-15.db
  $ dpp-sync ledger backup /backup/ledger.db --force

The command may run beside a daemon or a sync. The backup is verified before it appears.`;

const STEPS = { copy: 'Copying the ledger …', verify: 'Verifying the copy …' } as const;

export function addLedgerBackupCommand(ledger: Command, run: RunAction): void {
  ledger
    .command('backup')
    .description('copy the ledger, also while a daemon works on it')
    .argument('<file>', 'where the backup goes')
    .option('--force', 'replace a file that is there')
    .addHelpText('after', EXAMPLES)
    .action((file: string, options: { force?: boolean }) => run((context) => backup(file, options, context)));
}

async function backup(to: string, { force = false }: { force?: boolean }, context: CommandContext): Promise<number> {
  const { output, clock } = context;
  const config = await context.loadConfig('ledger');
  const onStep = (step: keyof typeof STEPS): void => {
    if (output.watched && !output.json) output.note(STEPS[step]);
  };
  const { file, bytes, items } = backUpLedger({ file: config.ledger, to, force, now: clock.now(), onStep });
  if (output.json) output.document({ ok: true, file, bytes, items });
  const counts = (['product', 'material', 'bom_item'] as const).map((kind) =>
    countKind(
      Object.values(items[kind]).reduce((sum, count) => sum + count, 0),
      kind,
    ),
  );
  output.print(`The ledger is backed up to ${printable(file)} (${formatBytes(bytes)}): ${counts.join(', ')}.`);
  return 0;
}
