import { describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';

describe('a mistake in the command line', () => {
  it.each([
    { argv: ['chekc'], message: "Unknown command 'chekc'. Did you mean check?", help: 'dpp-sync -- --help' },
    { argv: ['sync', '--bogus'], message: "Unknown option '--bogus'.", help: 'dpp-sync -- sync --help' },
    {
      argv: ['ledger', 'backup'],
      message: "Missing required argument 'file'.",
      help: 'dpp-sync -- ledger backup --help',
    },
    {
      argv: ['--log-level', 'loud', 'check'],
      message: "The option '--log-level <level>' cannot be 'loud'. Allowed choices are trace, debug",
      help: 'dpp-sync -- --help',
    },
    {
      argv: ['show', 'widget', 'A-1'],
      message: "The argument <kind> cannot be 'widget'. Expected one of product, material, bom_item, passport.",
      help: 'dpp-sync -- show --help',
    },
    {
      argv: ['items', '--limit', 'x'],
      message: "The option '--limit <n>' cannot be 'x'. Expected a whole number of at least 1.",
      help: 'dpp-sync -- items --help',
    },
  ])(
    'a mistake in the command line ends with a command that shows the help: $argv',
    async ({ argv, message, help }) => {
      const { exitCode, stderr } = await runHere(argv);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`error: ${message}`);
      expect(stderr.trimEnd().split('\n').at(-1)).toBe(`  See \`npm run -s ${help}\`.`);
    },
  );

  it.each([
    { argv: ['publish', 'A-1', '--yes'], message: '--yes needs --all.' },
    { argv: ['settle', 'A-1', '--ignore', '--yes'], message: '--yes needs --state.' },
    { argv: ['unpublish', 'A-1', '--yes'], message: "Unknown option '--yes'." },
    { argv: ['sync', '--yes'], message: "Unknown option '--yes'." },
  ])('--yes where a command asks nothing ends with a message to leave it out: $argv', async ({ argv, message }) => {
    const { exitCode, stderr } = await runHere(argv);
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `error: ${message} The command does not ask here, so leave out --yes.`,
    );
  });
});
