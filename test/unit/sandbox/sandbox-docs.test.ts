import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultFlag, sandboxSettings } from '../../../src/cli/sandbox/sandbox-settings.ts';
import { type ControlParts, createControlRoutes } from '../../../src/sandbox/control/control-server.ts';
import { FaultRule } from '../../../src/sandbox/faults/faults.ts';
import { configFolder } from '../../support/worlds/config-folder.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/sandbox.md'), 'utf8');

const examples = [...PAGE.matchAll(/^dpp-sync sandbox (-.*)$/gm)].map(([, flags = '']) => flags);

/** The values of an option in a command line, quotes taken off. */
function valuesOf(option: string, commandLine: string): string[] {
  const pattern = new RegExp(`${option} (?:'([^']*)'|(\\S+))`, 'g');
  return [...commandLine.matchAll(pattern)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

describe('docs/sandbox.md', () => {
  it('docs/sandbox.md has command lines to check', () => {
    expect(examples.length).toBeGreaterThan(8);
  });

  it.each(examples)('docs/sandbox.md has settings and faults that the sandbox accepts: %s', async (flags) => {
    const set = valuesOf('--set', flags).map((text) => {
      const at = text.indexOf('=');
      return { path: text.slice(0, at), value: text.slice(at + 1) };
    });
    const fault = valuesOf('--fault', flags).flatMap((text) => faultFlag(text, undefined));
    const rate = valuesOf('--rate', flags).map(Number)[0];
    const settings = await sandboxSettings({ set, fault, ...(rate === undefined ? {} : { rate }) });
    expect(settings.faults).toHaveLength(fault.length);
  });

  it('docs/sandbox.md has a settings file that the sandbox accepts', async () => {
    const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(PAGE) ?? [];
    const folder = configFolder({ 'sandbox.yaml': yaml });
    const settings = await sandboxSettings({ settings: join(folder, 'sandbox.yaml') });
    expect(settings).toMatchObject({ storage: join(folder, 'uuid.db'), faults: [{ kind: 'status', count: 2 }] });
  });

  it('docs/sandbox.md has every kind of fault, and no other', () => {
    const kinds = FaultRule.options.map((option) => option.shape.kind.value);
    const table = PAGE.slice(PAGE.indexOf('| kind | number |'), PAGE.indexOf('`count` says how often'));
    expect([...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind)).toEqual(kinds);
  });

  it('docs/sandbox.md has every route of the control endpoint, and no other', () => {
    const routes = Object.keys(createControlRoutes({} as ControlParts));
    const table = PAGE.slice(PAGE.indexOf('| route | body |'));
    expect(new Set([...table.matchAll(/`((?:GET|PUT|POST|DELETE) [^`]+)`/g)].map(([, route]) => route))).toEqual(
      new Set(routes),
    );
  });
});
