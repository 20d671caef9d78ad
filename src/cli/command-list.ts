import type { LogLevel } from '../lib/logging/logging.ts';

/** An entry of the list of commands in `dpp-sync --help`. */
export interface ListedCommand {
  /** The name and the arguments of the command. */
  term: string;
  /** The description of the command. */
  summary: string;
  /** The log level without `--log-level`; `warn` if absent. */
  level?: LogLevel;
  /** Set for a command that reads no config. */
  withoutConfig?: true;
}

/**
 * Every command, in the order of the list. The list in the help is printed only from this table. A command that
 * `program.ts` does not load is the operation of the same name.
 */
export const COMMANDS: readonly ListedCommand[] = [
  {
    term: 'init [options]',
    summary: 'write a config: recognises an exported file and proposes a mapping for it',
    withoutConfig: true,
  },
  {
    term: 'check [options]',
    summary: 'validate the config, open every source, reach the queue, and ask the API what the key may do',
  },
  {
    term: 'preview [options] <source>',
    summary: 'show records beside the items that they map to, and what is wrong with them',
  },
  {
    term: 'test [options] [file...]',
    summary: 'run the cases of the mappings, without key, network or ledger',
  },
  {
    term: 'plan [options] [source...]',
    summary: 'what a sync would do, item by item; sends nothing and stores nothing',
  },
  {
    term: 'sync [options] [source...]',
    summary: 'pull, map, push and publish until no automatic work is left',
  },
  {
    term: 'refuse <source>',
    summary: 'refuse the export that the guard holds, or the held run: what is there stays',
  },
  {
    term: 'start',
    summary: 'the daemon: schedules, workers, reads, metrics',
    level: 'info',
  },
  {
    term: 'reload [options]',
    summary: 'make the daemon read its config again',
  },
  {
    term: 'status',
    summary: 'ledger and queue counts, last and next runs',
  },
  {
    term: 'items [options]',
    summary: 'list the items of the ledger',
  },
  {
    term: 'show <kind> <key>',
    summary: "one item: the wanted values, the platform's values, what it waits for, its timeline",
  },
  {
    term: 'why <sku>',
    summary: 'why the passport of a product is published or not: all steps from the row to the passport',
  },
  {
    term: 'quarantine [options]',
    summary: 'list the records that could not be mapped, with place, value, rule and correction',
  },
  {
    term: 'replay [options]',
    summary: 'map stored records again, and send the items that result',
  },
  {
    term: 'settle [options] [key...]',
    summary: 'record the result of a write that needs a person, or which items were at the platform before',
  },
  {
    term: 'publish [options] [sku...]',
    summary: 'publish the passports of products',
  },
  {
    term: 'unpublish [options] <sku...>',
    summary: 'withdraw the passports of products',
  },
  {
    term: 'publications',
    summary: 'list the publications of passports, as the platform has them',
  },
  {
    term: 'pdf [options] <sku>',
    summary: "save a product's passport as PDF",
  },
  {
    term: 'report',
    summary: 'list the reports of the platform, or ask for one',
  },
  {
    term: 'keys',
    summary: "revoke API keys, with an administrator's token",
  },
  {
    term: 'password',
    summary: 'hash a password for web.users in the config',
    withoutConfig: true,
  },
  {
    term: 'alerts',
    summary: 'see and mute the alerts, and test their channels',
  },
  {
    term: 'ledger',
    summary: 'care of the ledger: back it up, verify it, restore it',
  },
  {
    term: 'connector',
    summary: 'connectors of your own',
    withoutConfig: true,
  },
  {
    term: 'sandbox [options]',
    summary: 'serve a sandbox of the API; prints its address and keys',
    withoutConfig: true,
  },
  {
    term: 'demo [options]',
    summary: 'try dpp-sync, with a sandbox of the API and an example export',
    withoutConfig: true,
  },
  {
    term: 'completion <shell>',
    summary: 'print a script that completes commands and options in a shell',
    withoutConfig: true,
  },
];
