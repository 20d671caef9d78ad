import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { isPassword } from '../../../src/lib/password-hash.ts';
import { describeWhere } from '../../support/runner/describe-where.ts';

const LAUNCHER = join(import.meta.dirname, '../../../src/launcher.mjs');
const PASSWORD = 'correct horse battery';
const HASH = /\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}/;

/** Runs a command in a terminal, and types the lines of the first argument when the terminal shows a question. Prints all that it showed. */
const TERMINAL = `
import os, pty, sys
lines = sys.argv[1].split("|")
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown = b""
asked = 0
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
    while lines and shown.count(b": ") > asked:
        asked += 1
        os.write(terminal, lines.pop(0).encode() + b"\\r")
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(shown.decode() + str(code))
`;

describe('`password`', () => {
  const run = async (input: string, ...args: string[]) => {
    const child = spawn(process.execPath, [LAUNCHER, 'password', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(input);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { stdout, stderr, exitCode: child.exitCode };
  };

  it('`password` prints the hash of a line of the standard input, with another salt each time', async () => {
    const [first, second] = await Promise.all([run(`${PASSWORD}\n`), run(PASSWORD)]);
    for (const { stdout, stderr } of [first, second]) {
      expect(stdout).toMatch(new RegExp(`^${HASH.source}\n$`));
      expect(stderr).toBe('');
      expect(await isPassword(PASSWORD, stdout.trim())).toBe(true);
      expect(await isPassword(`${PASSWORD} `, stdout.trim())).toBe(false);
    }
    expect(first.stdout).not.toBe(second.stdout);
    const { stdout } = await run(PASSWORD, '--json');
    expect(JSON.parse(stdout)).toEqual({ ok: true, password: expect.stringMatching(HASH) });
  });

  it('`password` refuses a short password and more than one line, and repeats neither', async () => {
    for (const input of ['hunter2', `${PASSWORD}\nanother line\n`]) {
      const { stdout, stderr, exitCode } = await run(input);
      expect([stdout, exitCode]).toEqual(['', 2]);
      expect(stderr).not.toMatch(/hunter2|correct|another/);
    }
  });
});

describeWhere({
  isThere: spawnSync('python3', ['-c', 'import pty']).status === 0,
  what: 'python3, which opens terminals',
})('`password` in a terminal', () => {
  const type = async (...lines: string[]) => {
    const command = [process.execPath, LAUNCHER, 'password'];
    const child = spawn('python3', ['-c', TERMINAL, lines.join('|'), ...command], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text(child.stdout);
  };

  it('`password` asks twice and shows nothing of what is typed', async () => {
    const shown = await type(PASSWORD, PASSWORD);
    expect(shown).toMatch(/0$/);
    expect(shown).not.toContain('horse');
    expect(await isPassword(PASSWORD, HASH.exec(shown)?.[0] ?? '')).toBe(true);
  });

  it('`password` refuses two passwords that differ', async () => {
    const shown = await type(PASSWORD, `${PASSWORD}!`);
    expect(shown).toContain('The two passwords differ.');
    expect(shown).toMatch(/2$/);
  });
});
