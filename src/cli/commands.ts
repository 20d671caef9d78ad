import type { Command } from 'commander';
import type { LoadedProgram, RunAction } from './context.ts';

type AddCommand = (program: Command, run: RunAction, loadAll: LoadedProgram) => void;

/**
 * Loads the file that defines a command, with all files that the command needs. A command line loads only the file of its
 * own command, because loading all of them takes longer than most commands run.
 */
const LOADERS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  init: async () => (await import('./init.ts')).addInitCommand,
  check: async () => (await import('./source/check.ts')).addCheckCommand,
  preview: async () => (await import('./source/preview.ts')).addPreviewCommand,
  sync: async () => (await import('./source/sync.ts')).addSyncCommand,
  start: async () => (await import('./start.ts')).addStartCommand,
  status: async () => (await import('./status.ts')).addStatusCommand,
  items: async () => (await import('./items.ts')).addItemsCommand,
  show: async () => (await import('./show.ts')).addShowCommand,
  why: async () => (await import('./why.ts')).addWhyCommand,
  quarantine: async () => (await import('./source/quarantine.ts')).addQuarantineCommand,
  replay: async () => (await import('./replay.ts')).addReplayCommand,
  settle: async () => (await import('./settle.ts')).addSettleCommand,
  publish: async () => (await import('./platform/publish.ts')).addPublishCommand,
  unpublish: async () => (await import('./platform/publish.ts')).addUnpublishCommand,
  publications: async () => (await import('./platform/publications.ts')).addPublicationsCommand,
  pdf: async () => (await import('./platform/pdf.ts')).addPdfCommand,
  report: async () => (await import('./platform/report.ts')).addReportCommand,
  keys: async () => (await import('./platform/keys.ts')).addKeysCommand,
  password: async () => (await import('./password.ts')).addPasswordCommand,
  alerts: async () => (await import('./alerts.ts')).addAlertsCommands,
  ledger: async () => (await import('./ledger.ts')).addLedgerCommands,
  connector: async () => (await import('./source/connector.ts')).addConnectorCommands,
  sandbox: async () => (await import('./sandbox/sandbox.ts')).addSandboxCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
  completion: async () => (await import('./completion.ts')).addCompletionCommand,
};

/** Loads a command of the list: its own file, or the command of the operation with its name. */
export async function loadCommand(name: string): Promise<AddCommand> {
  const load = Object.hasOwn(LOADERS, name) ? LOADERS[name] : undefined;
  if (load !== undefined) return load();
  const { addOperationCommand } = await import('./operation-command.ts');
  return (program, run) => addOperationCommand(program, run, name);
}
