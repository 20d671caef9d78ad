import { Command, Option } from 'commander';
import { LOG_LEVELS, type LogLevel } from '../lib/logging.ts';
import { addCheckCommand } from './check.ts';
import type { Action, RunAction } from './context.ts';
import { addDemoCommand } from './demo.ts';
import { addItemsCommand } from './items.ts';
import { addKeysCommand } from './keys.ts';
import { addLedgerCommands } from './ledger.ts';
import type { Output, Terminal } from './output.ts';
import { addPdfCommand } from './pdf.ts';
import { addPreviewCommand } from './preview.ts';
import { addPublicationsCommand } from './publications.ts';
import { addPublishCommands } from './publish.ts';
import { addQuarantineCommand } from './quarantine.ts';
import { addReplayCommand } from './replay.ts';
import { addReportCommand } from './report.ts';
import { addSandboxCommand } from './sandbox.ts';
import { addSettleCommand } from './settle.ts';
import { addShowCommand } from './show.ts';
import { addStartCommand } from './start.ts';
import { addStatusCommand } from './status.ts';
import { addSyncCommand } from './sync.ts';

/** The options that every command takes, before or after its name. */
export interface Globals {
  config: string;
  logLevel?: LogLevel;
}

const ABOUT =
  'Pulls items from ERP and PIM exports, maps them onto products, materials and BOM items, and keeps a Digital Product Passport platform up to date with them.';

const EXIT_CODES = `
Exit codes:
  0  all well
  1  failed while running, or stopped
  2  bad usage or config
  3  the API, queue, source or ledger is out of reach or refuses; everything stays due
  4  finished, but some items need a person or still wait, records are quarantined, a guard held a run, or the last
     run of a source failed

Start with:
  $ dpp-sync demo                 see all of it at work, with nothing set up
  $ dpp-sync check                is the config right, and can everything be reached?
  $ dpp-sync sync                 bring the platform up to date`;

/** The command line: every command with its options and help. */
export function createProgram(options: {
  version: string;
  /** Where help goes. */
  stdout: Terminal;
  output: Output;
  run: (action: Action, globals: Globals, defaultLevel: LogLevel) => Promise<void>;
}): Command {
  const { version, stdout, output, run } = options;
  const program: Command = new Command('dpp-sync')
    .description(ABOUT)
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help, also for a command')
    .option('-c, --config <file>', 'the config file', 'dpp-sync.yaml')
    .option('--json', 'print one JSON document on stdout (JSON lines for lists)')
    .option('-q, --quiet', 'no progress and no comments')
    .addOption(new Option('--log-level <level>', 'what is logged to stderr').choices(LOG_LEVELS))
    .configureHelp({ showGlobalOptions: true, visibleGlobalOptions: () => [...program.options] })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => output.error(text.trimEnd()),
      // Errors are told in one place, which knows about --json.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText('after', EXIT_CODES);

  const runWith =
    (defaultLevel: LogLevel): RunAction =>
    (action) =>
      run(action, program.opts<Globals>(), defaultLevel);
  const runQuietly = runWith('warn');

  addCheckCommand(program, runQuietly);
  addPreviewCommand(program, runQuietly);
  addSyncCommand(program, runQuietly);
  addStartCommand(program, runWith('info'));
  addStatusCommand(program, runQuietly);
  addItemsCommand(program, runQuietly);
  addShowCommand(program, runQuietly);
  addQuarantineCommand(program, runQuietly);
  addReplayCommand(program, runQuietly);
  addSettleCommand(program, runQuietly);
  addPublishCommands(program, runQuietly);
  addPublicationsCommand(program, runQuietly);
  addPdfCommand(program, runQuietly);
  addReportCommand(program, runQuietly);
  addKeysCommand(program, runQuietly);
  addLedgerCommands(program, runQuietly);
  addSandboxCommand(program, runQuietly);
  addDemoCommand(program, runQuietly);
  return program;
}
