import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { Difference } from '../../api/openapi/match.ts';
import { readConfigText } from '../../config/load-config.ts';
import { type ConfigProblem, formatProblem } from '../../config/problem.ts';
import type { ApiFinding, ChannelFinding, CheckOptions, QueueFinding, StreamFinding } from '../../daemon/check.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import type { ItemsInOtherForm } from '../../domain/ports/ledger/ledger-standing.ts';
import type { ScopeAnswer } from '../../domain/ports/target.ts';
import type { StreamIdentity } from '../../domain/record.ts';
import { Fault } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { errorDocument } from '../../operations/results.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { failureLines, failureOf } from '../errors.ts';
import { readInputFile } from '../files.ts';
import { formLines } from '../text/attention.ts';
import type { Output } from '../text/output.ts';
import { printable } from '../text/style.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync check
  $ dpp-sync check -c /etc/dpp-sync/dpp-sync.yaml --json
  $ dpp-sync check --openapi schema.yaml      compares the platform's own schema with the profile, and nothing else

All problems of the config are listed at once (exit code 2). Then every source is opened, the ledger and the folder of the
backups are looked at, the queue is connected, and the API is asked whether the key works and what it may do (exit
code 3 if one of them fails). Nothing is changed.`;

export function addCheckCommand(program: Command, run: RunAction): void {
  program
    .command('check')
    .option(
      '--openapi <file>',
      'only compare this OpenAPI document of the platform (3.x, JSON or YAML) with the profile, and say what to set',
    )
    .addHelpText('after', EXAMPLES)
    .action(({ openapi }: { openapi?: string }) =>
      run((context) => (openapi === undefined ? check(context) : checkOpenApi(openapi, context))),
    );
}

async function check(context: CommandContext): Promise<number> {
  const { output, secrets, clock } = context;
  const log = await context.log();
  const config = await context.loadConfig();
  const { checkAlertChannels, checkApi, checkBackups, checkMappings, checkQueue, checkStreams } = await import(
    '../../daemon/check.ts'
  );
  const { unsafeFileWarnings } = await import('../../daemon/unsafe-files.ts');
  const mappers = await checkMappings(config);
  printConfig(config, output);
  const todo = todoWarning(await readConfigText(config.file));
  const warnings = [...(todo === null ? [] : [todo]), ...(await unsafeFileWarnings(config))];
  for (const warning of warnings) output.note(`warning: ${printable(formatProblem(warning))}`);

  const signal = context.interruption();
  const options: CheckOptions = { config, secrets, clock, log, version: context.package.version, signal };
  const streams: StreamFinding[] = [];
  const ledger = await lookAtLedger(config, context);
  const storedOf = async (source: string, stream: string) => ledger.identities.get(`${source}/${stream}`) ?? null;
  for await (const finding of checkStreams(options, { mappers, storedOf })) {
    streams.push(finding);
    printStream(finding, output);
  }
  const queue = await checkQueue(config);
  printQueue(queue, output);
  const api = await checkApi(options);
  printApi(api, output);

  printLedger(ledger, config.ledger, output);
  const backups = checkBackups(config);
  if (backups !== null) output.print(...bad(output, 'backups', config.backups?.folder ?? '', backups));

  const channels = await checkAlertChannels(options);
  for (const finding of channels) printChannel(finding, output);

  const problems = [...streams, queue, api, ledger, ...channels].map((finding) => finding.problem);
  const [problem] = [...problems, backups].filter((one) => one !== null);
  const exitCode = problem?.exitCode ?? 0;
  if (output.json) {
    output.document({
      ok: exitCode === 0,
      config: { file: config.file, warnings: [...config.warnings, ...warnings] },
      sources: streams.map(({ source, stream, found, identity, warnings, problem: why }) => ({
        source,
        stream,
        ok: why === null,
        found,
        ...(identity === null ? {} : { identity }),
        ...(warnings.length === 0 ? {} : { warnings }),
        error: why === null ? null : errorDocument(failureOf(why)),
      })),
      queue: {
        kind: queue.kind,
        ok: queue.problem === null,
        found: queue.found,
        warnings: queue.warnings,
        error: queue.problem === null ? null : errorDocument(failureOf(queue.problem)),
      },
      api: {
        baseUrl: api.baseUrl,
        key: api.key,
        publishKey: api.publishKey,
        ok: api.problem === null,
        plan: api.plan,
        scopes: api.scopes,
        lists: api.lists.map(({ list, unreadable }) => ({ list, ok: unreadable === null, unreadable })),
        error: api.problem === null ? null : errorDocument(failureOf(api.problem)),
      },
      ledger: {
        ok: ledger.problem === null,
        otherForms: ledger.otherForms,
        unread: ledger.unread,
        error: ledger.problem === null ? null : errorDocument(failureOf(ledger.problem)),
      },
      backups: {
        ok: backups === null,
        error: backups === null ? null : errorDocument(failureOf(backups)),
      },
      alerts: channels.map(({ channel, type, problem: why }) => ({
        channel,
        type,
        ok: why === null,
        error: why === null ? null : errorDocument(failureOf(why)),
      })),
      ...(problem === undefined ? {} : { error: errorDocument(failureOf(problem)) }),
    });
  }
  return exitCode;
}

interface LedgerFinding {
  /** The items that were sent in another form than the profile has now. */
  otherForms: ItemsInOtherForm[];
  /** Why the ledger was not read; null if it was read, or if there is none yet. */
  unread: string | null;
  /** Why a sync of this user could not open the ledger. */
  problem: Fault | null;
  /** The identities of rows by source and stream. */
  identities: Map<string, StreamIdentity | null>;
}

async function lookAtLedger(config: RuntimeConfig, context: CommandContext): Promise<LedgerFinding> {
  const { checkLedger } = await import('../../daemon/check.ts');
  const problem = checkLedger(config);
  const none: LedgerFinding = { otherForms: [], unread: problem?.message ?? null, problem, identities: new Map() };
  if (problem !== null) return none;
  try {
    return await context.withViews(config, async (opened) => {
      if (opened === null) return none;
      const { reads } = opened;
      const streams = config.sources.flatMap(({ id, streams: own }) => own.map(({ name }) => ({ id, name })));
      const identities = await Promise.all(
        streams.map(async ({ id, name }) => [`${id}/${name}`, await reads.streamIdentity(id, name)] as const),
      );
      return { ...none, otherForms: await reads.otherForms(), identities: new Map(identities) };
    });
  } catch (error) {
    // A ledger of an older version can be opened, and is upgraded by the next sync.
    if (error instanceof Fault) return { ...none, unread: error.message };
    throw error;
  }
}

function printLedger({ otherForms, unread, problem }: LedgerFinding, file: string, output: Output): void {
  if (problem !== null) return output.print(...bad(output, 'ledger', file, problem));
  const lines = formLines(otherForms, output.paint).map((line) => `           ${line}`);
  if (unread !== null) lines.push(`           ${output.paint('yellow', `warning: ${printable(unread)}`)}`);
  if (lines.length > 0) output.print(`${output.paint('yellow', '!')} ledger`, ...lines);
}

function printConfig({ file, sources, ledger }: RuntimeConfig, output: Output): void {
  const mappings = sources.reduce((sum, source) => sum + source.mappings.length, 0);
  output.print(
    good(output, 'config', `${file}: ${counted(sources.length, 'source')}, ${counted(mappings, 'mapping')}`),
    `           ledger ${ledger}`,
  );
}

function printStream({ source, stream, found, identity, warnings, problem }: StreamFinding, output: Output): void {
  const name = `${source}/${stream}`;
  if (problem === null) output.print(good(output, 'source', `${name}: ${printable(found ?? '')}`));
  else output.print(...bad(output, 'source', name, problem));
  if (identity !== null) output.print(`           ${printable(identity)}`);
  for (const warning of warnings)
    output.print(`           ${output.paint('yellow', `warning: ${printable(warning)}`)}`);
}

function printQueue({ kind, found, warnings, problem }: QueueFinding, output: Output): void {
  if (problem !== null) output.print(...bad(output, 'queue', kind, problem));
  else output.print(good(output, 'queue', printable(found ?? '')));
  for (const warning of warnings) output.print(`           ${output.paint('yellow', `warning: ${warning}`)}`);
}

function printChannel({ channel, type, problem }: ChannelFinding, output: Output): void {
  if (problem !== null) output.print(...bad(output, 'alerts', `${channel} (${type})`, problem));
  else output.print(good(output, 'alerts', `${channel} (${type})`));
}

function printApi({ baseUrl, key, publishKey, plan, scopes, lists, problem }: ApiFinding, output: Output): void {
  const keys = `key ${key ?? 'unreadable'}${publishKey === null ? '' : `, publishing with ${publishKey}`}`;
  if (problem !== null) output.print(...bad(output, 'api', `${baseUrl} (${keys})`, problem));
  else output.print(good(output, 'api', `${baseUrl} (${keys})`));
  if (plan !== null) output.print(`           plan: API access ${answerMark(plan, output)}`);
  if (scopes === null) return;
  const shown = Object.entries(scopes).map(([scope, answer]) => `${scope} ${answerMark(answer, output)}`);
  output.print(`           scopes: ${shown.join('  ')}`);
  if (lists.length > 0) {
    const read = lists.map(
      ({ list, unreadable }) => `${list} ${answerMark(unreadable === null ? 'yes' : 'no', output)}`,
    );
    output.print(`           lists: ${read.join('  ')}`);
  }
  if (scopes.publish === 'no') {
    const others = scopes.read === 'yes' && scopes.write === 'yes' ? '; all other requests can be made.' : '.';
    output.print(`           ${output.paint('dim', `Passports cannot be published with this key${others}`)}`);
  }
}

function answerMark(answer: ScopeAnswer, { paint }: Output): string {
  if (answer === 'yes') return paint('green', '✓ yes');
  return answer === 'no' ? paint('red', '✗ no') : paint('yellow', '? unknown');
}

function good({ paint }: Output, what: string, text: string): string {
  return `${paint('green', '✓')} ${what.padEnd(8)} ${text}`;
}

function bad({ paint }: Output, what: string, text: string, problem: unknown): string[] {
  const lines = failureLines(failureOf(problem)).map((line) => `           ${line.replace(/^error: /, '').trim()}`);
  return [`${paint('red', '✗')} ${what.padEnd(8)} ${text}`, ...lines];
}

/** How `init` marks a line that a person has to check: in its comment, or in the comment above it. */
const MARK = /(?:^|\s)# TODO\s/;
const SHOWN = 12;

/** A warning about the lines of a config that `init` has marked for a person; null if there are none. */
function todoWarning(text: string): ConfigProblem | null {
  const lines = text.split('\n').flatMap((line, index) => (MARK.test(`${line}\n`) ? [index + 1] : []));
  const [first] = lines;
  if (first === undefined) return null;
  if (lines.length === 1) return { path: '', line: first, message: 'The line has a TODO.', cure: CURE };
  const shown = lines.length > SHOWN ? [...lines.slice(0, SHOWN), '…'] : lines;
  return { path: '', line: null, message: `${lines.length} lines have a TODO: ${shown.join(', ')}.`, cure: CURE };
}

const CURE = 'Correct or keep each such line, and delete the word TODO.';

/**
 * Compares the platform's own OpenAPI document with the profile of the config, and shows which settings to change. It
 * only reads these two files, so it needs neither network nor ledger.
 *
 * @returns 0 if nothing needs to be done, 4 if something breaks, needs a setting, or could not be read
 * @throws Fault `usage` for a file that cannot be read or is not an OpenAPI document
 */
async function checkOpenApi(file: string, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  const { compareOpenApi } = await import('../../api/openapi/compare.ts');
  const { OPENAPI_BYTES_MAX } = await import('../../api/openapi/document.ts');
  const compared = compareOpenApi(await readInputFile(file, OPENAPI_BYTES_MAX), config.profile);
  if (!compared.ok) throw fault('usage', `${file}: ${compared.error}`);
  const differences = compared.value;
  const settings = settingsOf(differences);
  const exitCode = differences.some(({ weight, value }) => weight !== 'note' || value !== undefined) ? 4 : 0;
  if (output.json) {
    output.document({ ok: exitCode === 0, config: { file: config.file }, openapi: { file, differences, settings } });
  } else {
    print(differences, settings, { file, configFile: config.file, output });
  }
  return exitCode;
}

/** The settings of the profile and the config for which the document gives a value. */
interface Settings {
  profile: JsonObject;
  target: JsonObject;
}

export function settingsOf(differences: readonly Difference[]): Settings {
  const all: JsonObject = {};
  for (const { setting, value } of differences) {
    if (setting !== undefined && value !== undefined) put(all, setting.split('.'), value);
  }
  const { target = {}, ...profile } = all;
  return { profile, target: isJsonObject(target) ? target : {} };
}

/**
 * Adds a value to the settings. If several differences give lists for one setting, the lists are combined, because each
 * entry is one more place to search.
 */
function put(into: JsonObject, [name = '', ...rest]: string[], value: JsonValue): void {
  const before = Object.hasOwn(into, name) ? into[name] : undefined;
  if (rest.length === 0) {
    into[name] = Array.isArray(before) && Array.isArray(value) ? [...new Set([...before, ...value])] : value;
    return;
  }
  const inner = isJsonObject(before) ? before : {};
  into[name] = inner;
  put(inner, rest, value);
}

const GROUPS = [
  { weight: 'breaks', title: 'Requests fail until this is corrected', colour: 'red' },
  { weight: 'unread', title: 'Not compared, because it cannot be read', colour: 'red' },
  { weight: 'note', title: 'Worth knowing', colour: 'yellow' },
] as const;

function print(
  differences: readonly Difference[],
  settings: Settings,
  { file, configFile, output }: { file: string; configFile: string; output: Output },
): void {
  const { paint } = output;
  const found = differences.length === 0 ? 'no differences' : counted(differences.length, 'difference');
  output.print(`${file} against the profile of ${configFile}: ${found}`);
  for (const { weight, title, colour } of GROUPS) {
    const group = differences.filter((one) => one.weight === weight);
    if (group.length === 0) continue;
    output.print('', paint('bold', `${title} (${group.length})`));
    for (const [path, members] of Map.groupBy(group, (one) => one.path)) {
      output.print(`  ${path}`);
      for (const { what, found: has, expected, setting, value } of members) {
        const cure = setting === undefined ? '' : `; ${value === undefined ? 'look at' : 'set'} ${setting}`;
        output.print(`    ${paint(colour, what)}: found ${has}, expected ${expected}${paint('dim', cure)}`);
      }
    }
  }
  for (const line of settingsLines(settings, output)) output.print(line);
}

function settingsLines({ profile, target }: Settings, { paint }: Output): string[] {
  const lines: string[] = [];
  if (Object.keys(profile).length > 0) {
    lines.push('', paint('bold', 'To be set in a profile, which the config names with target.profile'), '');
    lines.push(...yamlLines({ extends: 'default', ...profile }));
  }
  if (Object.keys(target).length > 0) {
    lines.push('', paint('bold', 'To be set in the config'), '', ...yamlLines({ target }));
  }
  return lines;
}

/** Lines of YAML without indentation, so that they can be pasted unchanged. */
function yamlLines(value: JsonObject): string[] {
  return stringify(value, { lineWidth: 0 }).trimEnd().split('\n');
}
