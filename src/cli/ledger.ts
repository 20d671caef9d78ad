import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backUpLedger, noLedgerFault } from '../ledger/backup/backup.ts';
import { restoreLedger } from '../ledger/backup/restore.ts';
import { type Finding, verifyLedger } from '../ledger/backup/verify.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import type { CommandContext, RunAction } from './context.ts';
import { formatBytes, printable } from './text/style.ts';
import { countKind } from './text/words.ts';

const BACKUP_EXAMPLES = `
Examples:
  $ dpp-sync ledger backup /backup/ledger-2027-01-15.db
  $ dpp-sync ledger backup /backup/ledger.db --force

The command may run beside a daemon or a sync. The backup is verified before it appears.`;

const RESTORE_EXAMPLES = `
Examples:
  $ dpp-sync ledger restore /backup/ledger-2027-01-15.db      put a backup in the ledger's place
  $ dpp-sync ledger restore                                   the ledger was put back by other means

Stop the daemon first. The former ledger is kept beside the new one. Then run \`dpp-sync sync\`: it looks up at the platform what
was sent since the backup. BOM items that may have been sent since the backup stay unconfirmed until a person settles them.`;

const VERIFY_EXAMPLES = `
Examples:
  $ dpp-sync ledger verify
  $ dpp-sync ledger verify /backup/ledger-2027-01-15.db

The command only reads, so it may run beside a daemon or a sync. Exit code 0: the ledger is sound; 1: it is
not; 3: it cannot be read.`;

export function addLedgerCommands(program: Command, run: RunAction): void {
  const ledger = program.command('ledger');
  ledger
    .command('backup')
    .description('copy the ledger, also while a daemon works on it')
    .argument('<file>', 'where the backup goes')
    .option('--force', 'replace an existing file')
    .addHelpText('after', BACKUP_EXAMPLES)
    .action((file: string, options: { force?: boolean }) => run((context) => backup(file, options, context)));
  ledger
    .command('verify')
    .description('check that a ledger or a backup is sound')
    .argument('[file]', 'a backup; the default is the ledger of the config')
    .addHelpText('after', VERIFY_EXAMPLES)
    .action((file: string | undefined) => run((context) => verify(file, context)));
  ledger
    .command('restore')
    .description("put a backup in the ledger's place; the next sync looks up what was sent since the backup")
    .argument('[file]', 'a backup; the default is the file that is in place already')
    .addHelpText('after', RESTORE_EXAMPLES)
    .action((file: string | undefined) => run((context) => restore(file, context)));
}

const STEPS = { copy: 'Copying the ledger …', verify: 'Verifying the copy …' } as const;

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
    ...(count === 0 ? [] : [`${counted(count, 'write')} that may have been made since the backup will be looked up.`]),
  );
  output.note(
    'Run `dpp-sync sync` now: it reads every source, looks up the items at the platform, and sends each item in full once.',
  );
  return 0;
}

async function verify(named: string | undefined, context: CommandContext): Promise<number> {
  const { output } = context;
  const file = named === undefined ? (await context.loadConfig('ledger')).ledger : resolve(named);
  const onCheck = (name: string): void => {
    if (output.watched && !output.json) output.note(`checking ${name} …`);
  };
  const verification = verifyLedger(file, onCheck);
  if (verification === null) throw noLedgerFault(file);
  const { findings, checks, backupAt } = verification;
  const ok = findings.length === 0;
  if (output.json) output.document({ ok, file, backupAt, checks, findings: findings.map(findingDocument) });
  const what =
    backupAt === null ? `The ledger ${printable(file)}` : `The backup ${printable(file)}, made at ${backupAt},`;
  if (ok) output.print(`${what} is sound. It has passed ${counted(checks, 'check')}.`);
  else {
    output.print(`${what} is not sound:`, '', ...findings.flatMap(findingLines), '');
    output.note(
      'Stop every process that uses the ledger, and keep a copy of it. `dpp-sync ledger restore FILE` puts a sound backup in its place.',
    );
  }
  return ok ? 0 : 1;
}

function findingDocument({ check, rule, count, examples }: Finding): object {
  return { check, holds: rule, count, examples };
}

function findingLines({ check, rule, count, examples }: Finding): string[] {
  const more = count > examples.length ? [`    … and ${formatCount(count - examples.length)} more`] : [];
  return [
    `  ${check}: ${counted(count, 'violation')} of: ${rule}`,
    ...examples.map((one) => `    ${printable(one)}`),
    ...more,
  ];
}
