import type { Command } from 'commander';
import type { LogLevel } from '../lib/logging/log-levels.ts';
import type { LoadedProgram, RunAction } from './context.ts';

/** An entry of the list of commands in `dpp-sync --help`. */
interface ListedCommand {
  /** The name and the arguments of the command. */
  term: string;
  /** The description of the command. */
  summary: string;
  /** The log level without `--log-level`; `warn` if absent. */
  level?: LogLevel;
  /** Loads the file that defines the command, with all files that the command needs. */
  load: () => Promise<(program: Command, run: RunAction, loadAll: LoadedProgram) => void>;
}

const publishing = async () => (await import('./platform/publish.ts')).addPublishCommands;

/**
 * Every command, in the order of the list. The list in the help is printed only from this table. A command line loads
 * only the file of its own command, because loading all of them takes longer than most commands run.
 */
export const COMMANDS: readonly ListedCommand[] = [
  {
    term: 'init [options]',
    summary: 'write a config: recognises an exported file and proposes a mapping for it',
    load: async () => (await import('./init.ts')).addInitCommand,
  },
  {
    term: 'check [options]',
    summary: 'validate the config, open every source, reach the queue, and ask the API what the key may do',
    load: async () => (await import('./source/check.ts')).addCheckCommand,
  },
  {
    term: 'preview [options] <source>',
    summary: 'show records beside the items that they map to, and what is wrong with them',
    load: async () => (await import('./source/preview.ts')).addPreviewCommand,
  },
  {
    term: 'sync [options] [source...]',
    summary: 'pull, map, push and publish until no automatic work is left',
    load: async () => (await import('./source/sync.ts')).addSyncCommand,
  },
  {
    term: 'start',
    summary: 'the daemon: schedules, workers, reads, metrics',
    level: 'info',
    load: async () => (await import('./start.ts')).addStartCommand,
  },
  {
    term: 'reload',
    summary: 'make the daemon read its config again',
    load: async () => (await import('./reload.ts')).addReloadCommand,
  },
  {
    term: 'status',
    summary: 'ledger and queue counts, last and next runs',
    load: async () => (await import('./status.ts')).addStatusCommand,
  },
  {
    term: 'items [options]',
    summary: 'list the items of the ledger',
    load: async () => (await import('./items.ts')).addItemsCommand,
  },
  {
    term: 'show <kind> <key>',
    summary: "one item: the wanted values, the platform's values, what it waits for, its timeline",
    load: async () => (await import('./show.ts')).addShowCommand,
  },
  {
    term: 'why <sku>',
    summary: 'why the passport of a product is published or not: all steps from the row to the passport',
    load: async () => (await import('./why.ts')).addWhyCommand,
  },
  {
    term: 'quarantine [options]',
    summary: 'list the records that could not be mapped, with place, value, rule and correction',
    load: async () => (await import('./source/quarantine.ts')).addQuarantineCommand,
  },
  {
    term: 'replay [options]',
    summary: 'map stored records again, and send the items that result',
    load: async () => (await import('./replay.ts')).addReplayCommand,
  },
  {
    term: 'settle [options] [key...]',
    summary: 'record the result of a write that needs a person, or which items were at the platform before',
    load: async () => (await import('./settle.ts')).addSettleCommand,
  },
  {
    term: 'publish [options] [sku...]',
    summary: 'publish the passports of products',
    load: publishing,
  },
  {
    term: 'unpublish [options] <sku...>',
    summary: 'withdraw the passports of products',
    load: publishing,
  },
  {
    term: 'publications',
    summary: 'list the publications of passports, as the platform has them',
    load: async () => (await import('./platform/publications.ts')).addPublicationsCommand,
  },
  {
    term: 'pdf [options] <sku>',
    summary: "save a product's passport as PDF",
    load: async () => (await import('./platform/pdf.ts')).addPdfCommand,
  },
  {
    term: 'report',
    summary: 'list the reports of the platform, or ask for one',
    load: async () => (await import('./platform/report.ts')).addReportCommand,
  },
  {
    term: 'keys',
    summary: "revoke API keys, with an administrator's token",
    load: async () => (await import('./platform/keys.ts')).addKeysCommand,
  },
  {
    term: 'password',
    summary: 'hash a password for web.users in the config',
    load: async () => (await import('./password.ts')).addPasswordCommand,
  },
  {
    term: 'alerts',
    summary: 'see and mute the alerts, and test their channels',
    load: async () => (await import('./alerts.ts')).addAlertsCommands,
  },
  {
    term: 'ledger',
    summary: 'care of the ledger: back it up, verify it, restore it',
    load: async () => (await import('./ledger.ts')).addLedgerCommands,
  },
  {
    term: 'connector',
    summary: 'connectors of your own',
    load: async () => (await import('./source/connector.ts')).addConnectorCommands,
  },
  {
    term: 'sandbox [options]',
    summary: 'serve a sandbox of the API; prints its address and keys',
    load: async () => (await import('./sandbox/sandbox.ts')).addSandboxCommand,
  },
  {
    term: 'demo [options]',
    summary: 'try dpp-sync, with a sandbox of the API and an example export',
    load: async () => (await import('./demo.ts')).addDemoCommand,
  },
  {
    term: 'completion <shell>',
    summary: 'print a script that completes commands and options in a shell',
    load: async () => (await import('./completion.ts')).addCompletionCommand,
  },
];
