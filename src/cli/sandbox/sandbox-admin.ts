import { type Command, InvalidArgumentError, Option } from 'commander';
import { fault } from '../../domain/faults.ts';
import { messageOf } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import type { SandboxStatistics } from '../../sandbox/control/inspection.ts';
import { seconds } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { printable } from '../text/style.ts';
import { formatValue } from '../text/words.ts';
import { faultWords } from './sandbox-settings.ts';

/** The organisation of the keys that a sandbox makes. */
export const SANDBOX_ORGANIZATION = 'Sandbox';
/** The port at which the verbs expect the control endpoint. */
export const CONTROL_PORT = 4291;

const SCOPES = ['read', 'write', 'publish'] as const;

interface Reach {
  control: string;
  organization: string;
}

/** The verbs of a sandbox's administrator. They send requests to a sandbox that was started with `--control-port`. */
export function addSandboxAdminCommands(sandbox: Command, run: RunAction): void {
  const verb = (name: string, description: string): Command =>
    sandbox
      .command(name)
      .description(description)
      .option('--control <url>', 'the control endpoint of the sandbox', `http://127.0.0.1:${CONTROL_PORT}`);
  const inOrganization = (command: Command): Command =>
    command.option(
      '--organization <name>',
      'the workspace; the sandbox makes it if there is none',
      SANDBOX_ORGANIZATION,
    );

  verb('organization', 'make a workspace, or change its plan')
    .argument('<name>')
    .addOption(
      new Option('--plan <plan>', '`enterprise` may use the API, `standard` gets 402')
        .choices(['enterprise', 'standard'])
        .default('enterprise'),
    )
    .addHelpText('after', example('organization acme --plan standard'))
    .action((name: string, options: Reach & { plan: string }) =>
      run((context) => organization(name, options, context)),
    );

  inOrganization(verb('key', 'make an API key, and print it'))
    .argument('<name>', 'the name of the key')
    .option('--scopes <names>', 'some of `read,write,publish`; the default is all three', scopeNames)
    .option('--expires-in <seconds>', 'when the key stops working; by default it never stops', seconds)
    .addHelpText('after', example('key robot --scopes read,write --expires-in 3600'))
    .action((name: string, options: KeyOptions) => run((context) => key(name, options, context)));

  verb('revoke', 'revoke an API key')
    .argument('<key-id>')
    .addHelpText('after', example('revoke 4'))
    .action((id: string, options: Reach) => run((context) => revoke(id, options, context)));

  inOrganization(verb('token', "log a user in, and print the session's token"))
    .argument('<email>', 'the user; the sandbox makes the user if there is none')
    .addOption(
      new Option('--role <role>', 'the role of the user')
        .choices(['owner', 'administrator', 'member'])
        .default('administrator'),
    )
    .option('--lifetime <seconds>', 'how long the token works', seconds, 3600)
    .addHelpText('after', example('token me@example.com --role owner'))
    .action((email: string, options: TokenOptions) => run((context) => token(email, options, context)));

  inOrganization(verb('approve', 'approve a passport, if publishing asks for a review'))
    .argument('<sku>')
    .addHelpText('after', example('approve TWZ-180-LS'))
    .action((sku: string, options: Reach) => run((context) => approve(sku, options, context)));

  verb('stats', 'the requests to the sandbox so far')
    .addHelpText('after', example('stats --json'))
    .action((options: Reach) => run((context) => stats(options, context)));
}

function example(args: string): string {
  return `\nExample:\n  $ dpp-sync sandbox ${args}\n\nThe sandbox runs in another terminal: dpp-sync sandbox --control-port ${CONTROL_PORT}`;
}

async function organization(name: string, { control, plan }: Reach & { plan: string }, context: CommandContext) {
  const { output } = context;
  const made = await askControl(control, {
    path: '/organizations',
    body: { name, plan },
    signal: context.interruption(),
  });
  if (output.json) output.document({ ok: true, organization: made });
  output.print(`${name} is on the plan ${plan}.`);
  return 0;
}

interface KeyOptions extends Reach {
  scopes?: string[];
  expiresIn?: number;
}

async function key(
  name: string,
  { control, organization: of, scopes = [...SCOPES], expiresIn }: KeyOptions,
  context: CommandContext,
) {
  const { output, clock } = context;
  const expiresAt = expiresIn === undefined ? {} : { expiresAt: Math.round(clock.now() + expiresIn * 1000) };
  const body = { organization: of, name, scopes, ...expiresAt };
  const made = await askControl(control, { path: '/keys', body, signal: context.interruption() });
  if (output.json)
    output.document({ ok: true, id: made['id'] ?? null, name, scopes, key: textIn(made, 'key') }, { reveal: true });
  // Only the value is written to stdout, so that `$(…)` can use it.
  output.note(
    `Key ${formatValue(made['id'])} of ${of}, for ${scopes.join(', ')}. The sandbox shows this key only now.`,
  );
  output.reveal(textIn(made, 'key'));
  return 0;
}

async function revoke(id: string, { control }: Reach, context: CommandContext) {
  const { output } = context;
  const body = { id: /^\d+$/.test(id) ? Number(id) : id };
  await askControl(control, { path: '/revocations', body, signal: context.interruption() });
  if (output.json) output.document({ ok: true, id: body.id });
  output.print(`The key ${id} is revoked.`);
  return 0;
}

interface TokenOptions extends Reach {
  role: string;
  lifetime: number;
}

async function token(
  email: string,
  { control, organization: of, role, lifetime }: TokenOptions,
  context: CommandContext,
) {
  const { output } = context;
  const body = { organization: of, email, role, lifetimeMs: Math.max(1, Math.round(lifetime * 1000)) };
  const made = await askControl(control, { path: '/tokens', body, signal: context.interruption() });
  if (output.json) output.document({ ok: true, email, role, token: textIn(made, 'token') }, { reveal: true });
  output.note(`Session of ${email}, ${role} of ${of}, for ${lifetime} s.`);
  output.reveal(textIn(made, 'token'));
  return 0;
}

async function approve(sku: string, { control, organization: of }: Reach, context: CommandContext) {
  const { output } = context;
  await askControl(control, { path: '/reviews', body: { organization: of, sku }, signal: context.interruption() });
  if (output.json) output.document({ ok: true, sku });
  output.print(`The passport of ${sku} is approved.`);
  return 0;
}

async function stats({ control }: Reach, context: CommandContext) {
  const { output } = context;
  const shown = await askControl(control, { path: '/stats', signal: context.interruption() });
  if (output.json) output.document({ ok: true, statistics: shown });
  else {
    const statistics = shown as unknown as SandboxStatistics;
    output.print(...statisticsLines(statistics), ...unusedLines(statistics));
  }
  return 0;
}

function scopeNames(text: string): string[] {
  return text.split(',').map((part) => {
    const scope = SCOPES.find((one) => one === part.trim());
    if (scope === undefined) throw new InvalidArgumentError(`Expected some of ${SCOPES.join(',')}.`);
    return scope;
  });
}

const TIMEOUT_MS = 10_000;
const START = 'Start the sandbox with --control-port, and name the address that it prints with --control.';

/**
 * Asks the control endpoint of a sandbox that is running.
 *
 * @param request a request with a `body` is a POST, and any other request is a GET
 * @throws Fault `sandbox.control` if no sandbox answers there, `sandbox.refused` if the sandbox refuses the request
 */
async function askControl(
  baseUrl: string,
  { path, body, signal }: { path: string; body?: object; signal: AbortSignal },
): Promise<JsonObject> {
  const url = URL.parse(path, baseUrl);
  if (url === null) throw fault('usage', `${baseUrl} is not the address of a control endpoint.`, { suggestion: START });
  const sent =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(url, { ...sent, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    status = response.status;
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw fault('sandbox.control', `No control endpoint of a sandbox answers at ${baseUrl}: ${messageOf(error)}.`, {
      suggestion: START,
      cause: error,
    });
  }
  const shown = isJsonObject(answer) ? (answer as JsonObject) : {};
  if (status === 200) return shown;
  const { detail } = shown;
  throw fault('sandbox.refused', `The sandbox refuses: ${typeof detail === 'string' ? detail : `HTTP ${status}`}`);
}

/** @throws Fault `sandbox.control` if the answer does not have the text, because then another program answers there */
function textIn(answer: JsonObject, name: string): string {
  const text = answer[name];
  if (typeof text === 'string') return text;
  throw fault('sandbox.control', `The server at this address is not a sandbox: its answer has no ${name}.`, {
    suggestion: START,
  });
}

/** At most this many doubles are listed; the others are only counted. */
const DOUBLES_SHOWN = 20;

/** Lines about the requests and writes of a sandbox. */
export function statisticsLines(statistics: SandboxStatistics): string[] {
  const { requests, throttled, replayed, faults, writes } = statistics;
  const entries = Object.entries(requests);
  const total = entries.flatMap(([, counts]) => Object.values(counts)).reduce((sum, count) => sum + count, 0);
  const besides = [
    ...(throttled > 0 ? [`${throttled} throttled`] : []),
    ...(replayed > 0 ? [`${replayed} replayed`] : []),
  ];
  return [
    `${counted(total, 'request')}${besides.length === 0 ? '' : `, of them ${besides.join(' and ')}`}`,
    ...entries.map(([operation, counts]) => {
      const shown = Object.entries(counts).map(([ending, count]) => `${ending} ×${count}`);
      return `  ${operation.padEnd(18)} ${shown.join(', ')}`;
    }),
    ...(writes.length === 0 ? [] : [counted(sumOf(writes), 'write')]),
    ...doubleLines(statistics),
    ...faults.flatMap(({ rule, used }) =>
      used === 0 ? [] : [`  fault ${faultWords(rule)}: ${counted(used, 'time')}`],
    ),
  ];
}

/** Lines about objects that were created more than once, with the names that people know. */
function doubleLines({ duplicates }: SandboxStatistics): string[] {
  if (duplicates.length === 0) return [];
  const shown = duplicates.slice(0, DOUBLES_SHOWN);
  const more = duplicates.length - shown.length;
  return [
    `  created more than once: ${counted(duplicates.length, 'item')}`,
    ...shown.map(({ organization, operation, naturalKey, count }) => {
      return `    ${printable(`${operation} ${naturalKey}`)} ×${count} (${printable(organization)})`;
    }),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

function sumOf(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** Lines about requested faults that never happened. A test that relies on one of them has proved nothing. */
export function unusedLines({ unusedFaults }: SandboxStatistics): string[] {
  if (unusedFaults.length === 0) return [];
  return [
    `${counted(unusedFaults.length, 'fault')} never happened:`,
    ...unusedFaults.map((rule) => `  ${faultWords(rule)}`),
  ];
}
