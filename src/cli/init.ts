import { constants, existsSync, writeFileSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { casesFileOf } from '../config/cases/read-cases.ts';
import { type Environment, processEnvironment } from '../config/environment.ts';
import { fault } from '../domain/faults.ts';
import { fileReasonOf, systemCodeOf } from '../lib/errors.ts';
import { writeFirstCase } from './cases/first-case.ts';
import type { CommandContext, RunAction } from './context.ts';
import type { ProposedConfig } from './init/propose-config.ts';
import { previewSource } from './source/preview.ts';
import { printable } from './text/style.ts';

interface InitOptions {
  from?: string;
  force?: boolean;
}

const EXAMPLES = `
Examples:
  $ dpp-sync init --from exports/products.csv     a config that reads this file, with a mapping to begin with
  $ dpp-sync init --from catalog.xml -c shop.yaml
  $ dpp-sync init                                 an example config, to be written by hand

CSV, JSON, JSON lines, XML, XLSX, BMEcat, GDSN and SAP IDoc files are recognised, also in .gz and .zip form. Each line of
the config says why it is proposed; lines with TODO need you. The config is written to --config (dpp-sync.yaml), and beside
it a first case for \`dpp-sync test\` (dpp-sync.cases.yaml).`;

/** How many records of each stream are shown. */
const SHOWN = 3;

export function addInitCommand(program: Command, run: RunAction): void {
  program
    .command('init')
    .option('--from <file>', 'the exported file that is recognised')
    .option('--force', 'replace an existing config; without this option, the exit code is 2 if there is one')
    .addHelpText('after', EXAMPLES)
    .action((options: InitOptions) =>
      run((context) =>
        options.from === undefined ? initByHand(options, context) : initFrom(options.from, options, context),
      ),
    );
}

async function initByHand({ force = false }: InitOptions, context: CommandContext): Promise<number> {
  const { output, configFile } = context;
  const example = await readFile(join(context.package.root, 'config', 'dpp-sync.example.yaml'), 'utf8');
  writeConfig(configFile, example, force);
  const cases = await copyExampleCases(context);
  if (output.json) output.document({ ok: true, file: resolve(configFile), from: null, cases });
  output.print(
    `An example config is in ${printable(configFile)}. Put your own values into it, then run \`dpp-sync check\`.`,
    ...(cases === null
      ? []
      : [`${printable(casesFileOf(configFile))} has cases of its mappings, which \`dpp-sync test\` runs.`]),
  );
  return 0;
}

/** Returns the absolute path; null if there is such a file already, which stays as it is. */
async function copyExampleCases(context: CommandContext): Promise<string | null> {
  const file = casesFileOf(context.configFile);
  const example = join(context.package.root, 'config', 'dpp-sync.example.cases.yaml');
  try {
    await copyFile(example, file, constants.COPYFILE_EXCL);
    return resolve(file);
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return null;
    throw unwritable(file, error);
  }
}

async function initFrom(file: string, { force = false }: InitOptions, context: CommandContext): Promise<number> {
  const { output, configFile } = context;
  assertFree(configFile, force);
  const { proposeConfig } = await import('./init/propose-config.ts');
  const { foundLines } = await import('./init/propose-config.ts');
  const signal = context.interruption();
  const found = await proposeConfig(file, {
    configFile,
    root: context.package.root,
    log: await context.log(),
    signal,
  });
  writeConfig(configFile, found.text, force);
  output.print(...foundLines(file, found, output), '');
  output.print(
    `${output.paint('green', '✓')} wrote ${printable(configFile)}. This is what the config makes of the file:`,
    '',
  );
  const config = await context.loadConfig('sources');
  const source = config.sources.find(({ id }) => id === found.source);
  if (source === undefined) throw new Error(`The config that was written has no source ${found.source}.`);
  const streams = source.streams.map(({ name }) => name);
  const preview = await previewSource(source, config, { limit: SHOWN, counts: true, streams }, context);
  const cases = await writeFirstCase(source, config, context);
  if (output.json) output.document({ ...initDocument(file, found, context, preview.counts), cases });
  if (cases !== null) {
    const what = 'a first case of the mappings: a row, and what it becomes now';
    output.print(`${output.paint('green', '✓')} wrote ${printable(casesFileOf(configFile))} with ${what}.`, '');
  }
  const todo = found.todo.length === 1 ? 'line' : `${found.todo.length} lines`;
  output.print(
    'Next:',
    ...(found.todo.length === 0
      ? []
      : [
          `  read the ${todo} with TODO in ${printable(configFile)}: correct or keep each line, and delete the word TODO`,
        ]),
    `  dpp-sync preview ${found.source} --issues`,
    ...(cases === null ? [] : ['  dpp-sync test']),
    ...settingLines(processEnvironment()),
    '  dpp-sync check',
    '  if there are several files: `dpp-sync init --from FILE -c OTHER.yaml` for each one, then "Join several files" in docs/getting-started.md',
  );
  return 0;
}

/** The variables that the config names and that are not set yet. */
function settingLines({ DPP_API_KEY: key = '', DPP_BASE_URL: url = '' }: Environment): string[] {
  const address =
    'DPP_BASE_URL to the address of the platform; without DPP_BASE_URL the address is that of `dpp-sync sandbox`';
  if (key !== '') return url === '' ? [`  if the platform is not the sandbox, set ${address}`] : [];
  return [`  set DPP_API_KEY to the key of the platform${url === '' ? `, and ${address}` : ''}`];
}

function initDocument(file: string, found: ProposedConfig, { configFile }: CommandContext, counts: unknown) {
  const { recognised, source, key, mapping, sample, todo } = found;
  const { connector, title, options, stream, hints, preset = null } = recognised;
  return {
    ok: true,
    file: resolve(configFile),
    from: resolve(file),
    recognised: { connector, title, preset, options, stream, hints },
    source,
    key,
    mapping,
    sample,
    todo,
    counts,
  };
}

/** Checks that the config file may be written. Call it before a large file is read. */
function assertFree(file: string, force: boolean): void {
  if (!force && existsSync(file)) throw takenFault(file);
}

function takenFault(file: string): Error {
  return fault('usage', `${file} is there already.`, {
    suggestion: 'Name another file with -c, or add --force to replace it.',
  });
}

/** @throws Fault `usage` if there is a file that may not be replaced, or if it cannot be written */
function writeConfig(file: string, text: string, force: boolean): void {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') throw takenFault(file);
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): Error {
  return fault('usage', `${file} cannot be written: ${fileReasonOf(error)}.`, {
    suggestion: 'With -c, name a file in a folder that exists and in which dpp-sync may write.',
    cause: error,
  });
}
