import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { fault } from '../domain/faults.ts';
import { hashPassword, PASSWORD_BYTES_MAX, passwordProblem } from '../lib/password-hash.ts';
import type { CommandContext, RunAction } from './context.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync password
  $ dpp-sync password < password.txt
  $ dpp-sync password < password.txt > /run/secrets/anna_password

It asks for the password twice without showing it, or reads one line of the standard input. It prints the scrypt hash, for

  web:
    users:
      - { name: anna, role: editor, password: "…" }`;

export function addPasswordCommand(program: Command, run: RunAction): void {
  program
    .command('password')
    .addHelpText('after', EXAMPLES)
    .action(() => run(printHash));
}

async function printHash(context: CommandContext): Promise<number> {
  const { output, secrets } = context;
  const password = process.stdin.isTTY ? await asked(context.interruption()) : await piped();
  // I7: the password is registered as a secret before any other use.
  secrets.add(password);
  const problem = passwordProblem(password);
  if (problem !== null) {
    throw fault('usage', problem, {
      suggestion: 'Take a few words that do not belong together: they are easy to remember.',
    });
  }
  const hash = await hashPassword(password);
  if (output.json) output.document({ ok: true, password: hash }, { reveal: true });
  output.reveal(hash);
  return 0;
}

/** Reads the password from the terminal without showing it, twice. */
async function asked(signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { stdin: input, stderr } = process;
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  // From here on the terminal shows nothing that is typed, so the question is printed after this line.
  const lines = createInterface({ input, output: unseen, terminal: true });
  const typed = (question: string) =>
    new Promise<string>((resolve, reject) => {
      const stopped = () => reject(fault('interrupted', 'No password was hashed.'));
      signal.addEventListener('abort', stopped, { once: true });
      // In this mode Ctrl-C is a character, and Ctrl-D the end of the input.
      lines.once('SIGINT', stopped);
      lines.once('close', stopped);
      lines.once('line', resolve);
      stderr.write(question);
    });
  try {
    const first = await typed('Password: ');
    const second = await typed('\nRepeat the password: ');
    if (first === second) return first;
    throw fault('usage', 'The two passwords differ.', { suggestion: 'Run the command again.' });
  } finally {
    stderr.write('\n');
    lines.close();
  }
}

async function piped(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > PASSWORD_BYTES_MAX) throw fault('usage', `The password has more than ${PASSWORD_BYTES_MAX} bytes.`);
    chunks.push(chunk);
  }
  const [line = '', ...rest] = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  if (rest.length > 0) {
    throw fault('usage', 'The standard input has more than one line.', { suggestion: 'Give the password alone.' });
  }
  return line;
}
