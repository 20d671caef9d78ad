// Secrets of a source's options: read again whenever the source is opened, and in no text that leaves the process (I7).

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { cli } from '../../support/cli/cli.ts';
import { installSdk } from '../../support/cli/sdk-package.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const PLANTED = 'planted-hunter2-in-a-connector';
const ROTATED = 'rotated-hunter3-in-a-connector';

/** A connector that gives one row with the password that it has, or fails with this password in its message. */
const connectorWith = (pull: string) => `import { defineConnector, secret, sourceFault, z } from 'dpp-sync/sdk';
export default defineConnector({
  id: 'guarded',
  title: 'Needs a password',
  reads: 'snapshot',
  options: z.strictObject({ login: z.strictObject({ password: secret().describe('The password.') }).describe('Who reads.') }),
  streamOptions: z.strictObject({ token: secret().optional().describe('A token.') }),
  async open({ login }, host) {
    return {
      async check() { return { found: 'a row' }; },
      async *pull({ options }) {
        const { password } = login;
        ${pull}
      },
      async close() {},
    };
  },
});
`;
const ROW = `yield { rows: [{ fields: { id: password.slice(0, 7), token: options.token?.slice(0, 7) ?? '' }, place: { path: '1' } }] };`;
const FAILURE = `host.log.warn({ password }, 'Logging in with ' + password);
        throw sourceFault('The password ' + password + ' is wrong.', { suggestion: 'Change ' + password + '.', cause: new Error(password) });`;

const syncOnce = (runtime: Runtime) =>
  sync(runtime, { sources: [], accept: [], waitMs: 10_000, abort: new AbortController().signal }, systemClock);

let world: World;
beforeEach(async () => {
  const mappings = [{ to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id + row.token' } }];
  const options = { login: { password: '${file:./password}' }, token: '${file:./token:-}' };
  world = await createWorld({
    config: { sources: [{ id: 'own', connector: './own.ts', options, mappings, guard: { maxMissing: '100%' } }] },
  });
  installSdk(world.folder);
  world.write('password', `${PLANTED}\n`);
  world.write('token', 'token-1-of-a-stream\n');
});
afterEach(() => world.remove());

describe('the secrets of a source', () => {
  it('the secrets of a source are read again when the source is opened', async () => {
    world.write('own.ts', connectorWith(ROW));
    const runtime = await world.open();
    try {
      await syncOnce(runtime);
      world.write('password', `${ROTATED}\n`);
      world.write('token', 'token-2-of-a-stream\n');
      await syncOnce(runtime);
    } finally {
      await runtime.close();
    }
    const names = world.contents().products.map(({ name }) => name);
    expect(names).toEqual(['plantedtoken-1', 'rotatedtoken-2']);
  });

  it('a connector can ask whether an address has a secret of the config, so that it may not be stored', async () => {
    const asked = (address: string) => `host.hasSecret(${address})`;
    const named = `[${asked("'https://a.example/?k=' + encodeURIComponent(password)")}, ${asked("'https://a.example/?k=planted'")}].join(' ')`;
    world.write('own.ts', connectorWith(ROW.replace(/token: [^}]*/, `token: ' ' + ${named} `)));
    const runtime = await world.open();
    try {
      await syncOnce(runtime);
    } finally {
      await runtime.close();
    }
    expect(world.contents().products.map(({ name }) => name)).toEqual(['planted true false']);
  });

  it('the secrets of a source are in no output, log or ledger when a connector fails with one in its message', async () => {
    world.write('own.ts', connectorWith(FAILURE));
    const { exitCode, stdout, stderr } = await cli(['sync', '-c', world.configFile, '--log-level', 'debug']);
    expect(exitCode).toBe(3);
    expect(stdout + stderr).toMatch(/The password planted-… is wrong/);
    const ledger = ['ledger.db', 'ledger.db-wal'].map((name) => join(world.folder, 'data', name)).filter(existsSync);
    expect(ledger.length).toBeGreaterThan(0);
    for (const text of [stdout, stderr, ...ledger.map((file) => readFileSync(file, 'latin1'))]) {
      expect(text).not.toContain('hunter2');
    }
  });

  it('the secrets of a source stop the run with their place in the config when their file is gone', async () => {
    world.write('own.ts', connectorWith(ROW));
    await using runtime = await world.open();
    rmSync(join(world.folder, 'password'));
    const { fault } = await syncOnce(runtime);
    expect(fault).toMatchObject({ code: 'config.invalid', path: 'sources[0].options.login.password' });
  });
});
