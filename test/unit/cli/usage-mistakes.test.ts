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
    { argv: ['--log-level', 'loud', 'check'], message: "Option '--log-level <level>'", help: 'dpp-sync -- --help' },
  ])(
    'a mistake in the command line ends with a command that shows the help: $argv',
    async ({ argv, message, help }) => {
      const { exitCode, stderr } = await runHere(argv);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`error: ${message}`);
      expect(stderr.trimEnd().split('\n').at(-1)).toBe(`  See \`npm run -s ${help}\`.`);
    },
  );
});
