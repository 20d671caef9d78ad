import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export interface Confirmation {
  input: Readable;
  /** Where the question goes. */
  output: Writable;
  signal: AbortSignal;
}

/**
 * Asks a person. Only `y` and `yes` are a yes; the end of the input is a no.
 *
 * @throws the signal's reason when it aborts
 */
export async function confirm(question: string, { input, output, signal }: Confirmation): Promise<boolean> {
  signal.throwIfAborted();
  // Without the terminal mode Ctrl-C stays a signal to the process, which `signal` tells of.
  const lines = createInterface({ input, output, terminal: false });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      lines.once('close', () => resolve(''));
      lines.question(`${question} [y/N] `, resolve);
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
