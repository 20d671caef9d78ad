import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { IDEMPOTENCY_KEY } from '../../domain/delivery/delivery.ts';
import { fault } from '../../domain/faults.ts';
import type { Report } from '../../domain/ports/target.ts';
import { Fault, messageOf } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { type Failure, outcomeFault } from '../../operations/outcome-fault.ts';
import { reportCreate, reportList } from '../../operations/platform.ts';
import { errorDocument } from '../../operations/results.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { failureLines, failureOf } from '../errors.ts';
import { readInputFile } from '../files.ts';
import { formatValue } from '../text/words.ts';
import { listPlatform } from './publications.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync report list
  $ dpp-sync report list --json | jq '.reports[-1].content'
  $ dpp-sync report create --type completeness`;

export function addReportCommand(program: Command, run: RunAction): void {
  const report = program.command('report').addHelpText('after', EXAMPLES);
  report
    .command('list')
    .description('list the reports of the platform; --json has their contents')
    .addHelpText(
      'after',
      "\nExamples:\n  $ dpp-sync report list\n  $ dpp-sync report list --json | jq '.reports[-1].content'",
    )
    .action(() => run(list));
  addReportCreateCommand(report, run);
}

function list(context: CommandContext): Promise<number> {
  return listPlatform<Report>(context, {
    command: 'report list',
    member: 'reports',
    columns: [
      { title: 'id', min: 8, max: 36 },
      { title: 'type', min: 14, max: 40 },
      { title: 'state', min: 10, max: 20 },
      { title: 'created', max: 32 },
    ],
    row: ({ id, type, status, createdAt }) => [String(id), type ?? '–', status ?? '–', createdAt ?? '–'],
    none: 'There are no reports.',
    failure: 'The reports cannot be read',
    operation: reportList,
  });
}

interface CreateOptions {
  type?: string;
  data?: string;
  dataFile?: string;
  idempotencyKey?: string;
}

const CREATE_EXAMPLES = `
Examples:
  $ dpp-sync report create                                an empty object: the platform chooses the kind
  $ dpp-sync report create --type completeness            {"type": "completeness"}
  $ dpp-sync report create --data '{"type": "summary", "title": "Q3"}'
  $ dpp-sync report create --data-file report.json

The API document does not show the body of this request. The schema of the platform has it.
The request is sent once. If it is not known whether it arrived, look at \`dpp-sync report list\` before you send it again.`;

const DATA_BYTES_MAX = 1_048_576;

function addReportCreateCommand(report: Command, run: RunAction): void {
  report
    .command('create')
    .description('ask the platform to make a report')
    .option('--type <type>', 'the member `type` of the request')
    .option('--data <json>', 'the request, as a JSON object')
    .option('--data-file <file>', 'a file that has the request')
    .option(
      '--idempotency-key <key>',
      'the key of the request that you repeat; without this option, a new key is made and printed',
      idempotencyKey,
    )
    .addHelpText('after', CREATE_EXAMPLES)
    .action((options: CreateOptions) => run((context) => create(options, context)));
}

async function create(options: CreateOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  const body = await bodyOf(options);
  const config = await context.loadConfig();
  const { idempotencyKey: key = randomUUID() } = options;
  const again =
    config.profile.idempotency === 'honoured'
      ? `With --idempotency-key ${key} the request can be sent again without harm.`
      : `If the platform does not have the report, send the request again with --idempotency-key ${key}.`;
  const unconfirmedCure = `\`dpp-sync report list\` shows whether the platform has the report. ${again}`;
  let failure: Failure;
  try {
    const outcome = await context.withPlatform(config, 'report create', (admin) =>
      admin.run(reportCreate, { body, idempotencyKey: key }),
    );
    if (outcome.kind === 'accepted') {
      const { remoteId } = outcome;
      if (output.json) output.document({ ok: true, id: remoteId, idempotencyKey: key });
      output.print(
        `The platform has accepted the request${remoteId === null ? '' : ` as report ${formatValue(remoteId)}`}.`,
      );
      output.print(`Idempotency-Key: ${key}`);
      return 0;
    }
    failure = failureOf(
      outcomeFault(outcome, {
        failure: 'The report was not made',
        cure: 'Give the fields of the report with --type, --data or --data-file. The schema of the platform names the fields that it needs.',
        unconfirmedCure,
      }),
    );
  } catch (error) {
    // The request may have been sent, and there is no answer that shows whether it took effect.
    if (!(error instanceof Fault) || !UNANSWERED.has(error.code)) throw error;
    failure = {
      ...failureOf(error),
      message: `It is unknown whether the request took effect: ${error.message}`,
      suggestion: unconfirmedCure,
    };
  }
  if (output.json) output.document({ ok: false, id: null, idempotencyKey: key, error: errorDocument(failure) });
  for (const line of failureLines(failure)) output.error(line);
  return failure.exitCode;
}

/** Faults that end the process that sends the request, or the connection to it. */
const UNANSWERED: ReadonlySet<string> = new Set(['daemon.lost', 'interrupted']);

/** @throws Fault `usage` */
async function bodyOf({ type, data, dataFile }: CreateOptions): Promise<JsonObject> {
  if (data !== undefined && dataFile !== undefined) {
    throw fault('usage', '--data and --data-file both give the request.', { suggestion: 'Leave one out.' });
  }
  const text = dataFile === undefined ? data : await readInputFile(dataFile, DATA_BYTES_MAX);
  const body = text === undefined ? {} : parseObject(text, dataFile === undefined ? '--data' : dataFile);
  if (type === undefined) return body;
  if (Object.hasOwn(body, 'type') && body['type'] !== type) {
    throw fault('usage', '--type and the data name different types.', { suggestion: 'Leave one out.' });
  }
  return { ...body, type };
}

function parseObject(text: string, from: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw fault('usage', `${from} is not JSON: ${messageOf(error)}.`, {
      suggestion: `Quote it for the shell, for example '{"type": "summary"}'.`,
      cause: error,
    });
  }
  if (!isJsonObject(value)) throw fault('usage', `${from} has to be a JSON object.`);
  return value;
}

function idempotencyKey(text: string): string {
  if (IDEMPOTENCY_KEY.test(text)) return text;
  throw new InvalidArgumentError('A key is 1 to 64 characters of A-Z, a-z, 0-9, _ and -.');
}
