import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createOutput } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createSecretStore } from '../../src/lib/secrets.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8');
const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
const output = createOutput({ ...streams, env: {}, secrets: createSecretStore(), json: false, quiet: false });
const program = createProgram({ version: '0', stdout: streams.stdout, output, run: () => Promise.resolve() });

describe('docs/cli.md', () => {
  it('has every command with its arguments, and no other', () => {
    const documented = [...PAGE.matchAll(/^### `(.+)`$/gm)].map(([, name]) => name);
    const defined = program.commands.map((command) => {
      const args = command.registeredArguments.map((argument) => {
        const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
        return argument.required ? ` <${name}>` : ` [${name}]`;
      });
      return `${command.name()}${args.join('')}`;
    });
    expect(new Set(documented)).toEqual(new Set(defined));
  });

  it.each(program.commands.map((command) => ({ name: command.name(), command })))(
    'has every option of $name',
    ({ name, command }) => {
      const section = PAGE.split(/^### /m).find((text) => text.startsWith(`\`${name}`)) ?? '';
      const missing = command.options.map(({ flags }) => flags).filter((flags) => !section.includes(`\`${flags}\``));
      expect(missing).toEqual([]);
    },
  );

  it('has every global option', () => {
    const missing = program.options.map(({ flags }) => flags).filter((flags) => !PAGE.includes(flags));
    expect(missing).toEqual([]);
  });
});
