import { resolve } from 'node:path';
import type { Command } from 'commander';
import { noLedgerFault } from '../../ledger/backup/backup.ts';
import { type Finding, verifyLedger } from '../../ledger/backup/verify.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { formatCount, plural, printable } from '../text/style.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync ledger verify
  $ dpp-sync ledger verify /backup/ledger-2027-01-15.db

The command only reads, so it may run beside a daemon or a sync. Exit code 0: the ledger is sound; 1: it is
not; 3: it cannot be read.`;

export function addLedgerVerifyCommand(ledger: Command, run: RunAction): void {
  ledger
    .command('verify')
    .description('check that a ledger or a backup is sound')
    .argument('[file]', 'a backup; the default is the ledger of the config')
    .addHelpText('after', EXAMPLES)
    .action((file: string | undefined) => run((context) => verify(file, context)));
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
  if (ok) output.print(`${what} is sound. It has passed ${plural(checks, 'check')}.`);
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
    `  ${check}: ${plural(count, 'violation')} of: ${rule}`,
    ...examples.map((one) => `    ${printable(one)}`),
    ...more,
  ];
}
