import { Command, Help, Option } from 'commander';
import type { LogLevel } from '../lib/logging/logging.ts';
import { COMMANDS } from './command-list.ts';
import type { Action, LoadedProgram, RunAction } from './context.ts';
import { DEFAULT_CONFIG, withOwnCommands } from './own-command.ts';
import { helpLines, type OutputOptions, type Terminal } from './text/output.ts';

/** The options that every command takes, before or after its name. */
export interface Globals {
  config: string;
  logLevel?: LogLevel;
}

const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

/** The width of the help if no terminal shows it. */
const HELP_WIDTH = 80;
/** With less room than this, the text of an option is not kept beside its name. It continues below the name. */
const TEXT_WIDTH_MIN = 28;

const ABOUT =
  'Pulls items from ERP and PIM exports, maps them onto products, materials and BOM items, and keeps a Digital Product Passport platform up to date with them.';

/** What each exit code means, by its number. */
export const EXIT_CODES = [
  'all well',
  'failed while running, or stopped before it was done',
  'bad usage or config, or an item that does not exist',
  'the API, queue, source or ledger cannot be reached, or refuses: everything stays due',
  'finished, but something needs attention. For the selected sources: items need a person or still wait, rows have an error, a guard holds an export, or the last run failed',
];

const AFTER = `
Exit codes:
${EXIT_CODES.map((means, code) => `  ${code}  ${means}`).join('\n')}

Start with:
  $ dpp-sync demo                 try dpp-sync, with nothing set up
  $ dpp-sync init --from FILE     write a config for an exported file
  $ dpp-sync check                is the config right, and can everything be reached?
  $ dpp-sync sync                 bring the platform up to date`;

/**
 * Makes the command line. The command that the arguments name is complete, and all others only have their entry in the
 * list.
 *
 * @throws CommanderError like parsing: if an option of every command is wrong, and if the version is requested
 */
export async function createProgram(options: {
  version: string;
  /** The stream for help that was asked for. */
  stdout: Terminal;
  /** The stream for the help that is shown if the arguments name no command. */
  stderr: Terminal;
  ownStart: OutputOptions['ownStart'];
  argv: readonly string[];
  run: (action: Action, globals: Globals, defaultLevel: LogLevel) => Promise<void>;
}): Promise<Command> {
  const { version, stdout, stderr, ownStart, argv, run } = options;
  const widthOf = (stream: Terminal): number => stream.columns ?? HELP_WIDTH;
  const writeHelp = (text: string, stream: Terminal): void =>
    void stream.write(helpLines(withOwnCommands(text, ownStart), widthOf(stream)));
  const terms = new Map<Command, string>();
  const help = new Help();
  const program: Command = new Command('dpp-sync')
    .description(ABOUT)
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help, also for a command')
    .option('-c, --config <file>', 'the config file', DEFAULT_CONFIG)
    .option(
      '--json',
      'print one JSON document on stdout; `items`, `quarantine` and `plan` print one JSON object on each line',
    )
    .option('-q, --quiet', 'print no progress and no comments; `sync` then prints only what needs a person')
    .addOption(
      new Option(
        '--log-level <level>',
        'what is logged to stderr; the default is `warn`, and `info` for `start`',
      ).choices(LOG_LEVELS),
    )
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: TEXT_WIDTH_MIN,
      visibleGlobalOptions: (command) => (command === program ? [] : [...program.options]),
      subcommandTerm: (command) => terms.get(command) ?? help.subcommandTerm(command),
    })
    .configureOutput({
      writeOut: (text) => writeHelp(text, stdout),
      getOutHelpWidth: () => widthOf(stdout),
      writeErr: (text) => writeHelp(text, stderr),
      getErrHelpWidth: () => widthOf(stderr),
      // Commander prints no errors: `runCli` reports all errors in one place, because the form depends on --json.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText('after', AFTER);

  const [first, second] = program.parseOptions([...argv]).operands;
  const named = first === 'help' ? second : first;
  for (const { term, level = 'warn' } of COMMANDS) {
    const name = nameIn(term);
    const runIt: RunAction = (action) => run(action, program.opts<Globals>(), level);
    if (name === named) (await loadCommand(name))(program, runIt, loadAll);
    else terms.set(program.command(name), term);
  }
  describeCommands(program);
  return program;

  async function loadAll(): Promise<Command> {
    const whole = new Command('dpp-sync');
    for (const option of program.options) whole.addOption(option);
    for (const { term } of COMMANDS) (await loadCommand(nameIn(term)))(whole, async () => undefined, loadAll);
    describeCommands(whole);
    return whole;
  }
}

/** Gives each command its summary of the list. */
function describeCommands(program: Command): void {
  for (const { term, summary } of COMMANDS) {
    program.commands.find((command) => command.name() === nameIn(term))?.description(summary);
  }
}

/** The command that shows the help of the command that the arguments name. */
export function helpFor(program: Command, argv: readonly string[]): string {
  let command = program;
  const names = ['dpp-sync'];
  for (const name of program.parseOptions([...argv]).operands) {
    const next = command.commands.find((one) => one.name() === name);
    if (next === undefined) break;
    command = next;
    names.push(name);
  }
  return `${names.join(' ')} --help`;
}

function nameIn(term: string): string {
  return term.split(' ', 1)[0] ?? '';
}

type AddCommand = (program: Command, run: RunAction, loadAll: LoadedProgram) => void;

/**
 * Loads the file that defines a command, with all files that the command needs. A command line loads only the file of its
 * own command, because loading all of them takes longer than most commands run.
 */
const LOADERS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  init: async () => (await import('./init.ts')).addInitCommand,
  check: async () => (await import('./source/check.ts')).addCheckCommand,
  preview: async () => (await import('./source/preview.ts')).addPreviewCommand,
  test: async () => (await import('./cases/test.ts')).addTestCommand,
  plan: async () => (await import('./source/plan.ts')).addPlanCommand,
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
async function loadCommand(name: string): Promise<AddCommand> {
  const load = Object.hasOwn(LOADERS, name) ? LOADERS[name] : undefined;
  if (load !== undefined) return load();
  const { addOperationCommand } = await import('./operation-command.ts');
  return (program, run) => addOperationCommand(program, run, name);
}
