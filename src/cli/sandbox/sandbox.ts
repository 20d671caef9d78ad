import { type Command, InvalidArgumentError, Option } from 'commander';
import { fault } from '../../domain/faults.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { collect, wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import {
  addSandboxAdminCommands,
  CONTROL_PORT,
  SANDBOX_ORGANIZATION,
  statisticsLines,
  unusedLines,
} from './sandbox-admin.ts';
import { type Assignment, faultFlag, type GateName, type SettingsFlags } from './sandbox-settings.ts';

interface SandboxCommandOptions extends SettingsFlags {
  port: number;
  host: string;
  controlPort?: number;
  key?: string;
  keyData?: string;
  keyRead?: string;
}

const EXAMPLES = `
Examples:
  $ dpp-sync sandbox                                    in memory, on port 4290, with fresh keys
  $ dpp-sync sandbox --data sandbox.db --key dpp_a_key_of_my_own_choosing
  $ dpp-sync sandbox --rate 50 --burst 20 --set rateLimit.headers=draft
  $ dpp-sync sandbox --set paging=cursor --set errors=problem --ids uuid
  $ dpp-sync sandbox --fault 'product.create:status=500,effect=done,count=2' --fault '*:latency=50,probability=0.1'
  $ dpp-sync sandbox --control-port ${CONTROL_PORT}                and in another terminal: dpp-sync sandbox token me@example.com

The sandbox behaves as the API document says: an address to try a config against. It runs until Ctrl-C, and then prints
how many requests it got. docs/sandbox.md is its manual.`;

export function addSandboxCommand(program: Command, run: RunAction): void {
  const sandbox = program
    .command('sandbox')
    .option('--port <n>', 'the port to listen on; 0 takes a free one', wholeNumber(0, 65_535), 4290)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option(
      '--control-port <n>',
      'serve the control endpoint too, on 127.0.0.1; 0 takes a free port',
      wholeNumber(0, 65_535),
    )
    .option('--data <file>', 'keep everything in this file; without this option, everything is lost at the end')
    .option('--key <key>', 'a value of your choice for the key with every scope', sandboxKey)
    .option(
      '--key-data <key>',
      'a value of your choice for the key that may read and write, but not publish',
      sandboxKey,
    )
    .option('--key-read <key>', 'a value of your choice for the key that may only read', sandboxKey)
    .option('--rate <n>', 'how many requests per second each key may send', wholeNumber(1, 1_000_000))
    .option(
      '--burst <n>',
      'how many requests a key may send at once after a rest; the default is the rate. Needs --rate',
      wholeNumber(1, 1_000_000),
    )
    .addOption(
      new Option('--idempotency <mode>', 'which writes obey `Idempotency-Key`; the default is `publish-only`').choices([
        'publish-only',
        'honoured',
        'ignored',
      ]),
    )
    .addOption(
      new Option('--ids <kind>', 'the type of ids; the default is `numeric`').choices(['numeric', 'uuid', 'text']),
    )
    .option(
      '--gates <names>',
      'the gates that a product has to pass before it is published: some of `product,bom,material,review`, or `none`',
      gateNames,
    )
    .option('--review', 'a passport has to be approved before it is published; the other gates stay as they are')
    .option('--settings <file>', 'YAML or JSON with any of the settings')
    .option(
      '--set <setting=value>',
      'one setting by its path, such as `paging=cursor`; may be repeated, and takes precedence over the file and the flags',
      assignment,
    )
    .option('--fault <rule>', 'what goes wrong: `OPERATION:KIND[=NUMBER][,NAME=VALUE…]`; may be repeated', faultFlag)
    .option('--faults <file>', 'YAML or JSON with a list of faults')
    .option(
      '--lies <names>',
      'what the sandbox answers although it is not so: some of `OPERATION:LIE`, with commas',
      lieNames,
    )
    .option(
      '--seed <n>',
      'the seed of each --fault with a `probability`; needs such a fault',
      wholeNumber(0, 1_000_000_000),
    )
    .addHelpText('after', EXAMPLES)
    .action((options: SandboxCommandOptions) => run((context) => serve(options, context)))
    .hook('preAction', refuseStrayOptions);
  addSandboxAdminCommands(sandbox, run);
}

/** Refuses options of `sandbox` after a verb. Commander accepts them there, but they would have no effect. */
function refuseStrayOptions(sandbox: Command, acting: Command): void {
  if (acting === sandbox) return;
  const stray = sandbox.options.find((option) => sandbox.getOptionValueSource(option.attributeName()) === 'cli');
  if (stray === undefined) return;
  throw fault('usage', `\`sandbox ${acting.name()}\` has no option ${stray.long ?? stray.flags}.`, {
    suggestion: `See \`dpp-sync sandbox ${acting.name()} --help\`.`,
  });
}

async function serve(options: SandboxCommandOptions, context: CommandContext): Promise<number> {
  const { output, clock } = context;
  const { port, host, controlPort } = options;
  refuseSameKeys(options);
  const { sandboxSettings } = await import('./sandbox-settings.ts');
  const settings = await sandboxSettings(options);
  const signal = context.interruption();
  const { createSandbox } = await import('../../sandbox/sandbox.ts');
  const sandbox = await createSandbox(settings, { clock });
  try {
    const keys = issueKeys(sandbox, options);
    const baseUrl = await sandbox.listen({ port, host });
    const controlUrl = controlPort === undefined ? null : await sandbox.listenControl({ port: controlPort });
    if (!isLoopback(host)) {
      output.error(
        `The sandbox listens on ${host}, port ${new URL(baseUrl).port}, so other machines can reach the sandbox in plain HTTP. Anybody with one of its keys can read and write all its data, and others on the network can read the keys. Without --host the sandbox listens on this machine alone.`,
      );
    }
    // The keys may be shown, because they were made for the reader and are shown only now.
    if (output.json) output.document({ ok: true, baseUrl, controlUrl, keys }, { reveal: true });
    output.reveal(
      `The sandbox of the DPP API serves at ${output.paint('bold', baseUrl)}`,
      '',
      ...keys.map(({ key, scopes }) => `  ${key}  ${output.paint('dim', scopes.join(', '))}`),
      '',
      // Lines that are short enough for any terminal, so that no key is wrapped.
      'In dpp-sync.yaml:',
      '  target:',
      `    baseUrl: ${baseUrl}`,
      `    apiKey: ${keys[0]?.key ?? ''}`,
      '',
      `The API as it is:   ${baseUrl}/api/docs/, and as OpenAPI ${baseUrl}/api/schema/`,
      ...(controlUrl === null ? [] : [`Control endpoint:   ${controlUrl}`]),
      settings.storage === ':memory:'
        ? 'All is kept in memory and gone at the end. Ctrl-C ends it.'
        : `All is kept in ${settings.storage}. Ctrl-C ends it.`,
    );
    await untilAborted(signal);
  } finally {
    await sandbox.close();
  }
  // Requests that were in flight are answered while the sandbox closes, and are counted.
  return showEnd(sandbox, context);
}

/** Prints the statistics. If a requested fault never happened, the exit code is 4. */
function showEnd(sandbox: Sandbox, { output }: CommandContext): number {
  const statistics = sandbox.statistics();
  const { faults, unusedFaults } = statistics;
  const exitCode = unusedFaults.length === 0 ? 0 : 4;
  // Without faults only one document is printed, like by any command that does not stream.
  const hadFaults = faults.length > 0 || unusedFaults.length > 0;
  if (output.json && hadFaults) output.document({ ok: exitCode === 0, statistics });
  for (const line of statisticsLines(statistics)) output.note(line);
  for (const line of unusedLines(statistics)) output.error(line);
  return exitCode;
}

/** No key may be given twice, because the scopes of the later one would replace those of the earlier one. */
function refuseSameKeys({ key, keyData, keyRead }: SandboxCommandOptions): void {
  const given = [key, keyData, keyRead].filter((one) => one !== undefined);
  if (new Set(given).size === given.length) return;
  throw fault('usage', 'The options --key, --key-data and --key-read need different keys.');
}

interface ShownKey {
  name: string;
  scopes: readonly ('read' | 'write' | 'publish')[];
  key: string;
}

function issueKeys(sandbox: Sandbox, { key, keyData, keyRead }: SandboxCommandOptions): ShownKey[] {
  const wanted = [
    { name: 'everything', scopes: ['read', 'write', 'publish'], given: key },
    { name: 'no publishing', scopes: ['read', 'write'], given: keyData },
    { name: 'reading only', scopes: ['read'], given: keyRead },
  ] as const;
  return wanted.map(({ name, scopes, given }) => {
    const request = { organization: SANDBOX_ORGANIZATION, name, scopes: [...scopes] };
    const issued = given === undefined ? sandbox.issueKey(request) : sandbox.ensureKey({ ...request, key: given });
    return { name, scopes, key: issued.key };
  });
}

function sandboxKey(text: string): string {
  if (/^dpp_[A-Za-z0-9_-]{16,200}$/.test(text)) return text;
  throw new InvalidArgumentError('A key is dpp_ and 16 to 200 characters of A-Z, a-z, 0-9, _ and -.');
}

const GATE_NAMES: readonly GateName[] = ['product', 'bom', 'material', 'review'];

function gateNames(text: string): GateName[] {
  if (text === 'none') return [];
  return text.split(',').map((part) => {
    const name = GATE_NAMES.find((one) => one === part.trim());
    if (name === undefined) throw new InvalidArgumentError(`Expected none, or some of ${GATE_NAMES.join(',')}.`);
    return name;
  });
}

function lieNames(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

function assignment(text: string, before: readonly Assignment[] | undefined): Assignment[] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected SETTING=VALUE, such as paging=cursor or import.upserts=false.');
  return collect({ path: text.slice(0, at), value: text.slice(at + 1) }, before);
}

/** Resolves when the signal aborts, or at once if it has aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
