import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli } from '../support/cli.ts';

/** Makes the Node that runs the bin say that it is an old one. */
const OLD_NODE = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.11.1'}})",
  )}`,
};

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');

it('is started with the same heap by npm and by the image, and by itself wherever there is an `env`', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const ofScript = (name: string) => scripts[name]?.split(' ').filter((word) => word.startsWith('--'));
  const ofImage = /^ENTRYPOINT (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '[]';
  expect(ofScript('dpp-sync')).toHaveLength(2);
  expect(ofScript('demo')).toEqual(ofScript('dpp-sync'));
  expect(JSON.parse(ofImage)).toEqual(['node', ...(ofScript('dpp-sync') ?? []), 'src/launcher.mjs']);
  expect(read('src/launcher.mjs').split('\n')[0]).toBe('#!/usr/bin/env node');
});

describe('the launcher on an old Node', () => {
  it('says which Node it needs, and ends with 2', async () => {
    const { exitCode, stdout, stderr } = await cli(['status'], { env: OLD_NODE });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('needs Node 22.19 or newer');
    expect(stderr).toContain('this is Node 20.11.1');
  });

  it('says it as a document too with --json', async () => {
    const { exitCode, json, stderr } = await cli(['status', '--json'], { env: OLD_NODE });
    expect(exitCode).toBe(2);
    expect(json()).toEqual({
      ok: false,
      error: { code: 'usage', path: null, message: expect.stringMatching(/needs Node 22\.19.* npm run -s dpp-sync/) },
    });
    expect(stderr).toContain('needs Node 22.19');
    expect((await cli(['sync', '--', '--json'], { env: OLD_NODE })).stdout).toBe('');
  });
});
