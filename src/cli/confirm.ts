import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fault } from '../domain/faults.ts';

export interface Confirmation {
  input: Readable;
  /** The stream to which the question is written. */
  output: Writable;
  signal: AbortSignal;
}

/**
 * Asks a person. Only `y` and `yes` mean yes; the end of the input means no.
 *
 * @throws the signal's reason when it aborts
 */
export async function confirm(question: string, { input, output, signal }: Confirmation): Promise<boolean> {
  signal.throwIfAborted();
  // Without the terminal mode, Ctrl-C stays a signal to the process, and `signal` aborts.
  const lines = createInterface({ input, output, terminal: false });
  let isAnswered = false;
  const withLineEnd = <T>(result: T): T => {
    if (!isAnswered) output.write('\n');
    isAnswered = true;
    return result;
  };
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      // Without an answer, no line end of the person ends the line of the question.
      signal.addEventListener('abort', () => reject(withLineEnd(signal.reason as Error)), { once: true });
      lines.once('close', () => resolve(withLineEnd('')));
      lines.question(`${question} [y/N] `, (typed) => {
        isAnswered = true;
        resolve(typed);
      });
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/**
 * Asks the person at the terminal, and throws unless the answer is yes.
 *
 * @param options.unattended the message if there is no terminal, because then `--yes` is needed
 * @throws Fault `usage` or `interrupted`
 */
export async function confirmed(
  question: string,
  { signal, unattended, declined }: { signal: AbortSignal; unattended: string; declined: string },
): Promise<void> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) throw fault('usage', unattended, { suggestion: 'Confirm with --yes.' });
  if (!(await confirm(question, { input, output, signal }))) throw fault('interrupted', declined);
}
