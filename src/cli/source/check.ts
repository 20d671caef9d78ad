import type { Command } from 'commander';
import { readConfigText } from '../../config/load-config.ts';
import { type ConfigProblem, formatProblem } from '../../config/problem.ts';
import type { ApiFinding, ChannelFinding, CheckOptions, QueueFinding, StreamFinding } from '../../daemon/check.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import type { ItemsInOtherForm } from '../../domain/ports/ledger/ledger-views.ts';
import type { ScopeAnswer } from '../../domain/ports/target.ts';
import type { StreamIdentity } from '../../domain/record.ts';
import { Fault } from '../../lib/errors.ts';
import { errorDocument } from '../../operations/result-documents.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { failureLines, failureOf } from '../errors.ts';
import { formLines } from '../text/item-lines.ts';
import type { Output } from '../text/output.ts';
import { plural, printable } from '../text/style.ts';
import { checkOpenApi } from './check-openapi.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync check
  $ dpp-sync check -c /etc/dpp-sync/dpp-sync.yaml --json
  $ dpp-sync check --openapi schema.yaml      compares the platform's own schema with the profile, and nothing else

All problems of the config are listed at once (exit code 2). Then every source is opened, the queue is connected,
and the API is asked whether the key works and what it may do (exit code 3 if one of them fails). Nothing is changed.`;

export function addCheckCommand(program: Command, run: RunAction): void {
  program
    .command('check')
    .option(
      '--openapi <file>',
      'only compare this OpenAPI document of the platform with the profile, and say what to set',
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
  const { checkAlertChannels, checkApi, checkMappings, checkQueue, checkStreams } = await import(
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
  const { identities, ...ledger } = await lookAtLedger(config, context);
  const storedOf = async (source: string, stream: string) => identities.get(`${source}/${stream}`) ?? null;
  for await (const finding of checkStreams(options, { mappers, storedOf })) {
    streams.push(finding);
    printStream(finding, output);
  }
  const queue = await checkQueue(config);
  printQueue(queue, output);
  const api = await checkApi(options);
  printApi(api, output);

  printForms(ledger, output);

  const channels = await checkAlertChannels(options);
  for (const finding of channels) printChannel(finding, output);

  const problems = [...streams, queue, api, ...channels].map((finding) => finding.problem);
  const [problem] = problems.filter((one) => one !== null);
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
      ledger,
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

/** What the ledger knows about items that were sent in another form than the profile has now. */
interface FormFinding {
  otherForms: ItemsInOtherForm[];
  /** Why the ledger cannot be read; null if it was read, or if there is none yet. It is no problem of the config. */
  unread: string | null;
}

/** Reads the ledger, with the identities of rows by source and stream. */
async function lookAtLedger(config: RuntimeConfig, context: CommandContext) {
  const none: FormFinding & { identities: Map<string, StreamIdentity | null> } = {
    otherForms: [],
    unread: null,
    identities: new Map(),
  };
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
    if (error instanceof Fault) return { ...none, unread: error.message };
    throw error;
  }
}

function printForms({ otherForms, unread }: FormFinding, output: Output): void {
  const lines = formLines(otherForms, output.paint).map((line) => `           ${line}`);
  if (unread !== null) lines.push(`           ${output.paint('yellow', `warning: ${printable(unread)}`)}`);
  if (lines.length > 0) output.print(`${output.paint('yellow', '!')} ledger`, ...lines);
}

function printConfig({ file, sources, ledger }: RuntimeConfig, output: Output): void {
  const mappings = sources.reduce((sum, source) => sum + source.mappings.length, 0);
  output.print(
    good(output, 'config', `${file}: ${plural(sources.length, 'source')}, ${plural(mappings, 'mapping')}`),
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
export function todoWarning(text: string): ConfigProblem | null {
  const lines = text.split('\n').flatMap((line, index) => (MARK.test(`${line}\n`) ? [index + 1] : []));
  const [first] = lines;
  if (first === undefined) return null;
  if (lines.length === 1) return { path: '', line: first, message: 'The line has a TODO.', cure: CURE };
  const shown = lines.length > SHOWN ? [...lines.slice(0, SHOWN), '…'] : lines;
  return { path: '', line: null, message: `${lines.length} lines have a TODO: ${shown.join(', ')}.`, cure: CURE };
}

const CURE = 'Correct or keep each such line, and delete the word TODO.';
