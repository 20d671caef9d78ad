import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CHILD = join(import.meta.dirname, 'interrupted-child.ts');

/** Starts a busy process, and sends it signals to stop, again and again. Returns its output and its exit code. */
async function stopped(drainMs: number, again?: NodeJS.Signals): Promise<{ said: string; exitCode: number }> {
  const child = spawn(process.execPath, [CHILD, String(drainMs)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (said === '') child.kill('SIGTERM');
    said += text;
  });
  const repeating = again && setInterval(() => said.includes('stopping') && child.kill(again), 50);
  const [exitCode] = (await once(child, 'close')) as [number];
  clearInterval(repeating);
  return { said, exitCode };
}

it('an interruption ends a process that does not end by itself within the time that it is given', async () => {
  expect(await stopped(50)).toEqual({ said: 'ready\nstopping\n', exitCode: 3 });
});

it('an interruption does not keep a process that is done in time from ending', async () => {
  expect(await stopped(60_000)).toEqual({ said: 'ready\nstopping\n', exitCode: 0 });
});

it('a second interruption ends a process at once, though not another terminal that closes', async () => {
  expect(await stopped(600_000, 'SIGTERM')).toEqual({ said: 'ready\nstopping\n', exitCode: 2 });
  expect(await stopped(1500, 'SIGHUP')).toEqual({ said: 'ready\nstopping\n', exitCode: 3 });
});
