import type { Command } from 'commander';
import type { RunAction } from '../context.ts';
import { addLedgerBackupCommand } from './ledger-backup.ts';
import { addLedgerRestoreCommand } from './ledger-restore.ts';
import { addLedgerVerifyCommand } from './ledger-verify.ts';

export function addLedgerCommands(program: Command, run: RunAction): void {
  const ledger = program.command('ledger').description('care of the ledger: back it up, verify it, restore it');
  addLedgerBackupCommand(ledger, run);
  addLedgerVerifyCommand(ledger, run);
  addLedgerRestoreCommand(ledger, run);
}
