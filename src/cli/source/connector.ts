import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { fault } from '../../domain/faults.ts';
import { fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import { makeFolderSync } from '../../lib/files.ts';
import { shellWord } from '../../lib/text/safe-text.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { printable } from '../text/style.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync connector new acme
  $ dpp-sync connector new acme --dir ./connectors/acme
  $ dpp-sync connector new acme --rest
  $ cd dpp-sync-connector-acme && npm test

The folder holds a connector that works, its tests and a config that uses it. The connector reads files; with --rest it reads an
API. See docs/connectors/writing.md.`;

const RECORD_EXAMPLES = `
Examples:
  $ dpp-sync connector record erp --out recordings
  $ dpp-sync connector record erp --stream products --pages 50 --out products.json
  $ dpp-sync connector record erp --out recordings --redact buyer,remark

It reads each stream from its beginning, and then the changes since then. Secrets, the address of the server, and members
about people, such as email, phone and address, are replaced. The same value gets the same replacement, in the same form.
Nothing is stored in the ledger and no position moves. See docs/connectors/writing.md.`;

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const NAME_MAX = 64;
const PREFIX = 'dpp-sync-connector-';

export function addConnectorCommands(program: Command, run: RunAction): void {
  const connector = program.command('connector');
  connector
    .command('new')
    .description('make a folder with a connector of your own, which passes the conformance kit')
    .argument('<name>', 'its id: lower-case letters, digits and dashes')
    .option('--dir <folder>', `the folder, which has to be new or empty; the default is \`${PREFIX}\` and the name`)
    .option('--rest', 'a connector for a REST API, in place of one for files')
    .addHelpText('after', EXAMPLES)
    .action((name: string, options: NewOptions) => run((context) => makeConnector(name, options, context)));
  connector
    .command('record')
    .description('record the requests and answers of a REST source, for the tests of a connector')
    .argument('<source>', 'the id of a source')
    .option('--stream <name>', 'only this stream')
    .requiredOption('--out <path>', 'a folder, which gets a file for each stream, or a file that ends with .json')
    .option('--pages <n>', 'how many pages of each read are recorded', wholeNumber(1, 100_000), 20)
    .option('--redact <members>', 'members that are replaced besides those about people, separated by commas')
    .addHelpText('after', RECORD_EXAMPLES)
    .action((source: string, options: { stream?: string; out: string; pages: number; redact?: string }) =>
      run(async (context) => {
        const { recordSource } = await import('../recording/record.ts');
        const redact = (options.redact ?? '')
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '');
        return await recordSource(source, { ...options, redact }, context);
      }),
    );
}

interface NewOptions {
  dir?: string;
  rest?: true;
}

async function makeConnector(name: string, { dir, rest }: NewOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  const id = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
  if (!NAME.test(id) || id.length > NAME_MAX) {
    throw fault('usage', `A connector cannot be called ${JSON.stringify(name)}.`, {
      suggestion: `Use lower-case letters, digits and dashes, at most ${NAME_MAX}, beginning with a letter, such as acme-pim.`,
    });
  }
  const named = dir ?? `${PREFIX}${id}`;
  const folder = resolve(named);
  const { root, version } = context.package;
  const values = { id, package: `${PREFIX}${id}`, version };
  const { files, isLinked } = writeTemplate({ folder, root, kind: rest ? 'rest' : 'file', values });
  if (output.json) output.document({ ok: true, folder, files });
  output.print(`The connector ${id} is in ${printable(folder)}: ${files.join(', ')}.`, '', 'Next:');
  // A connector for a REST API has nothing to read before its author names a system.
  if (!rest) output.print(`  dpp-sync preview catalogue -c ${shellWord(join(named, 'dpp-sync.yaml'))}`);
  // Its tests load the build of the SDK, which a clone of the repository has only after `npm run build`.
  if (!existsSync(join(root, 'dist', 'sdk-testing.js'))) output.print(`  npm --prefix ${shellWord(root)} run build`);
  output.print(`  cd ${shellWord(named)}`);
  if (!isLinked) output.print(`  npm install --save-dev --install-links ${shellWord(root)}`);
  output.print('  npm test');
  return 0;
}

/** npm does not pack a `.gitignore`, so the template has this file under another name. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

/**
 * Writes the files of the connector template into a folder that is new or empty, and links this program into its
 * `node_modules`, so that its tests run before anything is installed.
 *
 * @throws Fault `usage` if the folder has files in it or cannot be written
 */
function writeTemplate({
  folder,
  root,
  kind,
  values,
}: {
  folder: string;
  /** The folder of this program's package. */
  root: string;
  /** What the connector reads. */
  kind: 'file' | 'rest';
  /** The text that replaces `{{name}}` in the files. Other names belong to the connector. */
  values: Readonly<Record<string, string>>;
}): { files: string[]; isLinked: boolean } {
  const templates = ['shared', kind].map((name) => join(root, 'config', 'connector-template', name));
  const found = templates.flatMap((template) =>
    readdirSync(template, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path, name: path.slice(template.length + 1) })),
  );
  assertEmpty(folder);
  try {
    const files = found.map(({ path, name }) => {
      const text = readFileSync(path, 'utf8');
      const to = RENAMED[name] ?? name;
      makeFolderSync(dirname(join(folder, to)));
      // `wx` never replaces a file: one that has appeared meanwhile belongs to another process or person.
      writeFileSync(join(folder, to), withValues(text, values), { flag: 'wx' });
      return to;
    });
    return { files: files.toSorted(), isLinked: link(folder, root) };
  } catch (error) {
    throw unwritable(folder, error);
  }
}

function withValues(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);
}

function assertEmpty(folder: string): void {
  let found: string[];
  try {
    found = readdirSync(folder);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return;
    throw unwritable(folder, error);
  }
  if (found.length === 0) return;
  throw fault('usage', `The folder ${folder} is not empty.`, { suggestion: 'Name a new folder with --dir.' });
}

function unwritable(folder: string, error: unknown): Error {
  return fault('usage', `The folder ${folder} cannot be written: ${fileReasonOf(error)}.`, {
    suggestion: 'Name another folder with --dir.',
    cause: error,
  });
}

/** Links this program into the folder. Returns false if the disk has no links. */
function link(folder: string, root: string): boolean {
  const modules = join(folder, 'node_modules');
  try {
    makeFolderSync(modules);
    symlinkSync(root, join(modules, 'dpp-sync'), 'junction');
    return true;
  } catch {
    return false;
  }
}
