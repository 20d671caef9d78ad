// Each command that a page names exists, with these options.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { type Block, blocks, pages, proseOf, ROOT } from '../../support/docs/docs-pages.ts';
import { commandsOf } from './shell-commands.ts';

/** Blocks of commands that are none, with the reason. */
const NOT_COMMANDS: Record<string, string> = {
  'dpp-sync [global options] COMMAND [options]': 'It is a synopsis.',
};
/** Languages of blocks without commands. test/unit/docs/docs-blocks.test.ts knows which test takes them. */
const OTHER_LANGUAGES = ['', 'csv', 'ini', 'json', 'mermaid', 'nginx', 'sql', 'text', 'ts', 'xml', 'yaml'];

const SCRIPTS = new Set(
  ['package.json', 'config/connector-template/shared/package.json'].flatMap((file) => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { scripts: Record<string, string> };
    return Object.keys(scripts);
  }),
);

/** Parses a command line as the program does, without running the command. */
async function parse(argv: readonly string[]): Promise<void> {
  const program = await createProgram({
    version: '0',
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    ownStart: () => ({ command: 'dpp-sync', configFile: null }),
    argv,
    run: () => Promise.resolve(),
  });
  await program.parseAsync([...argv], { from: 'user' });
}

/** The arguments of dpp-sync in a command of the shell, also where npm, node or docker starts it; null for other commands. */
function argumentsIn(command: readonly string[]): readonly string[] | null {
  const [program, ...args] = command;
  const after = (word: string) => args.slice(args.indexOf(word) + 1);
  if (program === 'dpp-sync') return args;
  if (program === 'npm' && args.includes('dpp-sync') && args.includes('--')) return after('--');
  if (program === 'npx' && args[0] === 'dpp-sync') return args.slice(1);
  if ((program === 'docker' || program === 'kubectl') && args.includes('src/launcher.mjs'))
    return after('src/launcher.mjs');
  if (program === 'docker' && args.includes('run')) return after('dpp-sync');
  return null;
}

function scriptOf({ language, text }: Block): string {
  if (language !== 'console') return text;
  return [...text.matchAll(/^\$ (.*)$/gm)].map(([, line = '']) => `${line}\n`).join('');
}

const scripts = blocks
  .filter(({ language, text }) => ['sh', 'console'].includes(language) && !(text.trim() in NOT_COMMANDS))
  .map((block) => ({ where: `${block.page}:${block.line}`, script: scriptOf(block) }));

describe('the blocks of commands', () => {
  it('the blocks of commands are found on many pages, and every other block has a language that is known', () => {
    expect(scripts.length).toBeGreaterThan(40);
    const unknown = blocks.filter(({ language }) => !['sh', 'console', ...OTHER_LANGUAGES].includes(language));
    expect(unknown).toEqual([]);
    const texts = new Set(blocks.map(({ text }) => text.trim()));
    expect(Object.keys(NOT_COMMANDS).filter((text) => !texts.has(text))).toEqual([]);
  });

  it('a block of commands is refused where an option, a command or a script is unknown', async () => {
    await expect(parse(['items', '--stat', 'due'])).rejects.toThrow(/--stat/);
    expect(() => commandsOf('dppsync check')).toThrow(/dppsync: No such/);
    expect(commandsOf(`dpp-sync items --search "a b" | cat # ${'`'}x`)).toContainEqual([
      'dpp-sync',
      'items',
      '--search',
      'a b',
    ]);
  });

  it.each(scripts)('the block at $where has commands with options that exist', async ({ script }) => {
    const commands = commandsOf(script);
    for (const command of commands) {
      const args = argumentsIn(command);
      if (args !== null) await parse(args);
      if (command[0] === 'npm' && command[1] === 'run')
        expect(SCRIPTS).toContain(command.slice(2).find((word) => !word.startsWith('-')));
    }
  });
});

const inline = pages.flatMap((page) =>
  [...proseOf(page).matchAll(/`dpp-sync ([^`\n]+)`/g)].map(([, text = '']) => ({ where: page.path, text })),
);

it.each(inline)('the text at $where names `dpp-sync $text`, which exists', async ({ text }) => {
  for (const [, ...args] of commandsOf(`dpp-sync ${text.replaceAll('…', '')}`)) {
    try {
      await parse(args);
    } catch (error) {
      // A page may name a command without its arguments. Commander also reports the end of its help as an error.
      expect(['commander.missingArgument', 'commander.helpDisplayed']).toContain((error as CommanderError).code);
    }
  }
});

it('no page installs dpp-sync by its name, because no registry has it', () => {
  const templates = ['file', 'rest'].map((kind) => `config/connector-template/${kind}/README.md`);
  const texts = [
    ...pages.map(({ path, text }) => ({ path, text })),
    ...templates.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  ];
  const named = texts.filter(({ text }) => /npm (?:install|i) [^`\n]*(?<= )dpp-sync(?=[\s`])/.test(text));
  expect(named.map(({ path }) => path)).toEqual([]);
});
