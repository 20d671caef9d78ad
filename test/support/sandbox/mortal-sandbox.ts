import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import type { SandboxSnapshot } from '../../../src/sandbox/control/inspection.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { freePort } from '../servers/free-port.ts';
import { API_KEY } from '../worlds/world.ts';

const SCRIPT = join(import.meta.dirname, 'sandbox-process.ts');

/**
 * A sandbox in a separate process. Its store stays when the process is killed. Its key is the `API_KEY` of the worlds.
 */
export interface MortalSandbox {
  baseUrl: string;
  /**
   * The number of writes that have taken effect. It is read from the store, so it can be read while the process is dead.
   */
  writes(): number;
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts the sandbox again at the same address on the same store. */
  restart(): Promise<void>;
  /** Ends the process with SIGKILL and reads its store. */
  inspect(): Promise<SandboxSnapshot>;
  /** Ends the process and removes its store. */
  stop(): Promise<void>;
}

export async function startMortalSandbox(options: Omit<SandboxOptions, 'storage'>): Promise<MortalSandbox> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sandbox-'));
  const settings = { ...options, storage: join(folder, 'sandbox.db') };

  const port = await freePort();
  async function start(): Promise<{ child: ChildProcess; baseUrl: string }> {
    const child = spawn(process.execPath, [SCRIPT, String(port), API_KEY, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const killWithTests = () => child.kill('SIGKILL');
    process.once('exit', killWithTests);
    child.once('exit', () => process.off('exit', killWithTests));
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('The sandbox ended before it listened.')));
    const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
    ended.catch(() => undefined);
    return { child, baseUrl: line.toString().trim() };
  }
  let { child, baseUrl } = await start();

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  return {
    baseUrl,
    kill,
    writes() {
      const database = new Database(settings.storage, { readonly: true });
      try {
        return Number(database.prepare('SELECT coalesce(sum(count), 0) FROM write_count').pluck().get());
      } finally {
        database.close();
      }
    },
    async restart() {
      await kill();
      ({ child, baseUrl } = await start());
    },
    async inspect() {
      await kill();
      const sandbox = await createSandbox({ ...settings, faults: [] }, { clock: systemClock });
      const snapshot = sandbox.inspect();
      await sandbox.close();
      return snapshot;
    },
    async stop() {
      await kill();
      await removeFolder(folder);
    },
  };
}
