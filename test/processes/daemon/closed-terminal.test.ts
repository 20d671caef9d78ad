import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { covers } from '../../support/docs/reliability.ts';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const COUNT = 300;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${at},Item ${at},10`);
const LAUNCHER = join(import.meta.dirname, '../../../src/launcher.mjs');

/** Runs a command in a new terminal, closes the terminal at the first line of stdin, and prints the command's exit code. */
const TERMINAL = `
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while 0 not in select.select([terminal, 0], [], [])[0]:
    os.read(terminal, 65536)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

describeWhere({
  isThere: spawnSync('python3', ['-c', 'import pty']).status === 0,
  what: 'python3, which opens terminals',
})('in a terminal that is closed amid the work', () => {
  let world: World;

  beforeEach(async () => {
    world = await createWorld({
      config: { sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }] },
      files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
      profile: { imports: { creates: 'off' } },
      sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: 1500 }] },
    });
  });
  afterEach(() => world.remove());

  it.each([
    { command: 'start', exitCode: 0 },
    { command: 'sync', exitCode: 1 },
  ])(
    '`$command` finishes what is in flight when its terminal closes',
    covers('shutdown', 'I5', 'I6', 'I8'),
    async ({ command, exitCode }) => {
      const args = [process.execPath, LAUNCHER, command, '-c', world.configFile, '--log-level', 'info'];
      const terminal = spawn('python3', ['-c', TERMINAL, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
      const output = text(terminal.stdout);
      await expect.poll(() => world.sandbox.inspect().faults[0]?.used ?? 0).toBeGreaterThanOrEqual(20);
      terminal.stdin.end('close\n');
      expect(await output).toBe(`${exitCode}\n`);
      if (terminal.exitCode === null) await once(terminal, 'exit');

      const arrived = world.contents().products.length;
      const runtime = await world.open();
      const { product } = await runtime.reads.itemCounts();
      expect(runtime.voided).toBe(0);
      await runtime.close();
      expect(product).toEqual({ delivered: arrived, due: COUNT - arrived });
      expect(arrived).toBeGreaterThanOrEqual(20);
    },
  );
});
