import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { withOwnCommands } from '../../../src/cli/own-command.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { documentedCommands } from '../../generate/cli-page.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ownStart = () => ({ command: 'dpp-sync', configFile: null });
const run = () => Promise.resolve();
const programFor = (...argv: string[]): Promise<Command> =>
  createProgram({ version: '0', stdout: new PassThrough(), stderr: new PassThrough(), ownStart, argv, run });

const program = await programFor();

it('docs/cli.md has every command with its arguments, and no other', () => {
  const page = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');
  const documented = [...page.matchAll(/^### `(.+)`$/gm)].map(([, term]) => term);
  expect(new Set(documented)).toEqual(new Set(documentedCommands.map(({ term }) => term)));
});

describe('help', () => {
  /** What a command line without work prints in terminals of this width. */
  async function printedAt(columns: number, argv: readonly string[], command = 'dpp-sync') {
    const stdout = Object.assign(new PassThrough(), { columns });
    const stderr = Object.assign(new PassThrough(), { columns });
    const start = () => ({ command, configFile: null });
    const narrow = await createProgram({ version: '0', stdout, stderr, ownStart: start, argv, run });
    await expect(narrow.parseAsync([...argv], { from: 'user' })).rejects.toBeInstanceOf(CommanderError);
    return { stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
  }

  async function helpAt(columns: number, ...argv: string[]): Promise<string> {
    return (await printedAt(columns, [...argv, '--help'])).stdout;
  }

  it.each(documentedCommands)('the help of $name has an example, and fits the terminal', async ({ name }) => {
    for (const columns of [60, 80]) {
      const help = await helpAt(columns, ...name.split(' '));
      expect(help).toContain('  $ ');
      // An example that people paste is in one line.
      const wide = help.split('\n').filter((line) => line.length > columns && !line.startsWith('  $ '));
      expect(wide).toEqual([]);
    }
  });

  it('the help of the program fits the terminal, and shows each option once', async () => {
    const help = await helpAt(80);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(help.match(/--log-level/g)).toHaveLength(1);
    expect(await helpAt(80, 'alerts', 'mute')).toContain('(default: 8h)');
  });

  it.each([[[]], [['ledger']]])('the help that is shown without a command is that of --help: %j', async (argv) => {
    for (const columns of [40, 60, 80]) {
      expect(await printedAt(columns, argv)).toEqual({ stdout: '', stderr: await helpAt(columns, ...argv) });
    }
  });

  it('the help keeps the text of an option beside its name at 60 columns', async () => {
    expect(await helpAt(60)).toContain(
      '  --json                        print one JSON document on\n                                stdout',
    );
  });

  it('the help has examples that the reader can paste', async () => {
    const { stdout } = await printedAt(80, ['reload', '--help'], 'npm run -s dpp-sync --');
    expect(stdout).toContain('\n  $ npm run -s dpp-sync -- reload\n');
  });
});

it('the program lists every command as its file defines it', async () => {
  for (const listed of program.commands) {
    const withFile = await programFor(listed.name());
    expect(withFile.helpInformation()).toBe(program.helpInformation());
  }
});

it('a hint can name every command, and has the config if the command reads it', () => {
  const hint = (name: string) =>
    withOwnCommands(`dpp-sync ${name}`, () => ({ command: 'own', configFile: 'shop.yaml' }));
  const withoutConfig = new Set(['completion', 'connector', 'demo', 'init', 'password', 'sandbox']);
  for (const name of program.commands.map((command) => command.name()))
    expect(hint(name)).toBe(withoutConfig.has(name) ? `own ${name}` : `own -c shop.yaml ${name}`);
});

it('the texts of the program send nobody to a command that does not exist', () => {
  const files = globSync(['src/**/*.ts', 'connectors/**/*.{ts,md}', 'docs/**/*.md', '*.md'], { cwd: ROOT });
  const names = new Set(program.commands.map((command) => command.name()));
  const named = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/`dpp-sync ([a-z]+)/g)].map(([, name = '']) => ({
      file,
      name,
    })),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(({ name }) => !names.has(name))).toEqual([]);
});
