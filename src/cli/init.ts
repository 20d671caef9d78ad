import { existsSync, writeFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { casesFileOf } from '../config/cases.ts';
import { type Environment, processEnvironment } from '../config/environment.ts';
import { fault } from '../domain/faults.ts';
import { fileReasonOf, systemCodeOf } from '../lib/errors.ts';
import { assertSources } from '../operations/named.ts';
import { writeFirstCase } from './cases/write-case.ts';
import type { CommandContext, RunAction } from './context.ts';
import type { ProposedConfig } from './init/propose-config.ts';
import { previewSource } from './source/preview.ts';
import { printable } from './text/style.ts';

interface InitOptions {
  from?: string[];
  fromSource?: string;
  preset?: string;
  force?: boolean;
}

const EXAMPLES = `
Examples:
  $ dpp-sync init --from exports/products.csv     a config that reads this file, with a mapping to begin with
  $ dpp-sync init --from products.csv materials.xlsx boms.csv
                                                  one config for files that belong together, with how they join
  $ dpp-sync init --from 'plm/*.json'             files that are one object each, as one source; or the folder: plm
  $ dpp-sync init --from catalog.xml -c shop.yaml
  $ dpp-sync init --from-source erp               mappings for a source of the config, such as a database
  $ dpp-sync init --preset odoo                   a config for a known system; an unknown name lists all
  $ dpp-sync init                                 an example config, to be written by hand

CSV, JSON, JSON lines, XML, XLSX, BMEcat, GDSN and SAP IDoc files are recognised, also in .gz and .zip form. Each line of
the config says why it is proposed; lines with TODO need you. The config is written to --config (dpp-sync.yaml), and beside
it a first case for \`dpp-sync test\` (dpp-sync.cases.yaml).`;

/** How many records of each stream are shown. */
const SHOWN = 3;

export function addInitCommand(program: Command, run: RunAction): void {
  program
    .command('init')
    .option(
      '--from <file...>',
      'the exported file that is recognised, or several or a folder of files that belong together',
    )
    .option('--from-source <source>', 'propose mappings for a source that the config has already; nothing is written')
    .option('--preset <name>', 'write a config for a known system, with its streams and mappings')
    .option('--force', 'replace an existing config; without this option, the exit code is 2 if there is one')
    .addHelpText('after', EXAMPLES)
    .action((options: InitOptions) =>
      run((context) => {
        const { from, fromSource, preset } = options;
        if ([from, fromSource, preset].filter((one) => one !== undefined).length > 1) {
          throw fault('usage', '`--from`, `--from-source` and `--preset` cannot be used together.');
        }
        if (preset !== undefined) return initFromPreset(preset, options, context);
        if (fromSource !== undefined) return initFromSource(fromSource, context);
        return from === undefined ? initByHand(options, context) : initFrom(from, options, context);
      }),
    );
}

async function initByHand({ force = false }: InitOptions, context: CommandContext): Promise<number> {
  const { output, configFile } = context;
  const example = await readFile(join(context.package.root, 'config', 'dpp-sync.example.yaml'), 'utf8');
  writeConfig(configFile, withSchemas(example, context), force);
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

/** Writes the config of a known system. */
async function initFromPreset(name: string, { force = false }: InitOptions, context: CommandContext): Promise<number> {
  const { output, configFile } = context;
  const folder = join(context.package.root, 'config', 'presets');
  const names = (await readdir(folder)).flatMap((file) =>
    file.endsWith('.yaml') ? file.slice(0, -'.yaml'.length) : [],
  );
  if (!names.includes(name)) {
    throw fault('usage', `There is no preset ${printable(name)}.`, {
      suggestion: `The presets are ${names.sort().join(', ')}.`,
    });
  }
  const text = await readFile(join(folder, `${name}.yaml`), 'utf8');
  writeConfig(configFile, text, force);
  const { sources } = parse(text) as { sources: { id: string }[] };
  // The comment at the beginning of each preset names its page.
  const [page] = /docs\/connectors\/[\w-]+\.md/.exec(text) ?? [];
  if (output.json) output.document({ ok: true, file: resolve(configFile), preset: name });
  output.print(
    `${output.paint('green', '✓')} wrote ${printable(configFile)} from the preset ${name}.`,
    '',
    'Next:',
    ...(page === undefined ? [] : [`  read ${printable(relative('', join(context.package.root, page)))}`]),
    '  set the variables and addresses that it names',
    '  dpp-sync check',
    ...sources.map(({ id }) => `  dpp-sync preview ${id}`),
  );
  return 0;
}

/** The first line of an example names its schema for editors. The schemas are in the package. */
function withSchemas(text: string, context: CommandContext): string {
  const from = dirname(resolve(context.configFile));
  const folder = relative(from, join(context.package.root, 'config')).split(sep).join('/');
  return text.replace('$schema=./', `$schema=${folder.startsWith('.') ? '' : './'}${folder}/`);
}

/** Returns the absolute path; null if there is such a file already, which stays as it is. */
async function copyExampleCases(context: CommandContext): Promise<string | null> {
  const file = casesFileOf(context.configFile);
  const example = join(context.package.root, 'config', 'dpp-sync.example.cases.yaml');
  try {
    await writeFile(file, withSchemas(await readFile(example, 'utf8'), context), { flag: 'wx' });
    return resolve(file);
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return null;
    throw unwritable(file, error);
  }
}

async function initFrom(
  files: readonly string[],
  { force = false }: InitOptions,
  context: CommandContext,
): Promise<number> {
  const { output, configFile } = context;
  assertFree(configFile, force);
  const { foundLines, joinLines } = await import('./init/found-lines.ts');
  const { proposeConfig } = await import('./init/propose-config.ts');
  const signal = context.interruption();
  const found = await proposeConfig(files, {
    configFile,
    root: context.package.root,
    log: await context.log(),
    signal,
  });
  writeConfig(configFile, found.text, force);
  for (const file of found.files) output.print(...foundLines(file, output), '');
  for (const reason of found.leftOut)
    output.print(`${output.paint('yellow', 'left out')} of the config, the others go on: ${printable(reason)}`, '');
  if (found.files.flatMap(({ records }) => records).length > 1) output.print(...joinLines(found, output), '');
  const made = files.length === 1 ? 'the file' : 'the files';
  output.print(
    `${output.paint('green', '✓')} wrote ${printable(configFile)}. This is what the config makes of ${made}:`,
    '',
  );
  const config = await context.loadConfig('sources');
  const counts: unknown[] = [];
  let cases: string | null = null;
  for (const { source: id } of found.files) {
    const source = config.sources.find((one) => one.id === id);
    if (source === undefined) throw new Error(`The config that was written has no source ${id}.`);
    const streams = source.streams.map(({ name }) => name);
    counts.push((await previewSource(source, config, { limit: SHOWN, counts: true, streams }, context)).counts);
    cases ??= await writeFirstCase(source, config, context);
  }
  if (output.json) output.document({ ...initDocument(found, counts, context), cases });
  if (cases !== null) {
    const what = 'a first case of the mappings: a row, and what it becomes now';
    output.print(`${output.paint('green', '✓')} wrote ${printable(casesFileOf(configFile))} with ${what}.`, '');
  }
  const todo = found.files.flatMap((file) => file.todo).length;
  output.print(
    'Next:',
    ...(todo === 0
      ? []
      : [
          `  read the ${todo === 1 ? 'line' : `${todo} lines`} with TODO in ${printable(configFile)}: correct or keep each line, and delete the word TODO`,
        ]),
    ...found.files.map(({ source }) => `  dpp-sync preview ${source} --issues`),
    ...(cases === null ? [] : ['  dpp-sync test']),
    ...settingLines(processEnvironment()),
    '  dpp-sync check',
    ...(files.length > 1
      ? []
      : ['  if other files belong to this one: `dpp-sync init --force --from FILE FILE …` makes one config of all']),
  );
  return 0;
}

/** Prints mappings for a source of the config, to be put into it. */
async function initFromSource(id: string, context: CommandContext): Promise<number> {
  const { output, configFile } = context;
  const config = await context.loadConfig('unmapped_sources');
  assertSources(config, [id]);
  const source = config.sources.find((one) => one.id === id);
  if (source === undefined) throw new Error(`The config has no source ${id}.`);
  const { joinLines } = await import('./init/found-lines.ts');
  const { proposeForSource } = await import('./init/propose-source.ts');
  const options = { log: await context.log(), signal: context.interruption() };
  const found = await proposeForSource(source, config, options);
  const { text, streams, ...joins } = found;
  if (output.json) output.document({ ok: true, file: resolve(configFile), source: id, streams, ...joins, text });
  output.print(text.trimEnd());
  const todo = streams.flatMap((stream) => stream.todo).length;
  output.note(
    [
      '',
      ...(streams.length > 1 ? joinLines(found, output) : []),
      ...found.empty.map((stream) => `${stream} gave no record that can be read, so it has no mapping.`),
      `Put these lines under the source ${id} in ${printable(configFile)}${todo === 0 ? '' : `, and read the ${todo === 1 ? 'line' : `${todo} lines`} with TODO`}. Then run \`dpp-sync preview ${id}\`.`,
    ].join('\n'),
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

/** The document of one file; with several files it has one entry for each, and how they join. */
function initDocument(
  { files, joins, joined, leftOut }: ProposedConfig,
  counts: readonly unknown[],
  { configFile }: CommandContext,
) {
  const documents = files.map(({ file, recognised, source, records, todo }, at) => {
    const { connector, title, options, stream, hints, preset = null } = recognised;
    const [first, ...more] = records;
    const { key, mapping, sample } = first ?? { key: [], mapping: null, sample: null };
    return {
      from: resolve(file),
      recognised: { connector, title, preset, options, stream, hints },
      source,
      key,
      mapping,
      sample,
      more,
      todo,
      counts: counts[at],
    };
  });
  const [only, ...others] = documents;
  const head = { ok: true, file: resolve(configFile) };
  const common = { joins, joined, leftOut };
  return others.length === 0 ? { ...head, ...only, ...common } : { ...head, files: documents, ...common };
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
