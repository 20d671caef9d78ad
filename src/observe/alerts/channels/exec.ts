import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { ChannelSettings } from '../../../domain/alert-settings.ts';
import { type Channel, noticeDocument } from './channel.ts';

type ExecSettings = Extract<ChannelSettings, { type: 'exec' }>;

/** The most bytes of a program's stderr that are kept for the reason of its failure. The rest is read and dropped. */
const OUTPUT_BYTES_MAX = 2000;
/** How long the channel waits for the output after the program has ended. */
const OUTPUT_MS = 500;

/**
 * Runs a program, without a shell, with the notice as JSON on stdin. The arguments and the environment contain no part
 * of the notice, and the environment contains no secret of this process.
 *
 * @param environment the variables of this process that the program gets
 */
export function createExec(
  { id, program, args, timeoutMs }: ExecSettings,
  environment: Record<string, string>,
): Channel {
  return {
    id,
    type: 'exec',
    send(notice, signal) {
      return new Promise((resolve, reject) => {
        // The program runs in a separate process group, so that the children of the program end with the program.
        const child = spawn(program, [...args], {
          shell: false,
          env: environment,
          stdio: ['pipe', 'ignore', 'pipe'],
          detached: true,
        });
        let words = Buffer.alloc(0);
        let stoppedFor: string | null = null;
        const stop = (why: string): void => {
          stoppedFor ??= why;
          killGroup(child.pid);
        };
        const onAbort = () => stop('was stopped with the daemon.');
        const timer = setTimeout(() => stop(`took longer than ${timeoutMs / 1000} s and was killed.`), timeoutMs);
        signal.addEventListener('abort', onAbort, { once: true });
        const leave = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        };
        child.on('error', (error) => {
          leave();
          reject(new Error(`${program} could not be run: ${error.message}.`));
        });
        child.stderr.on('data', (chunk: Buffer) => {
          if (words.length < OUTPUT_BYTES_MAX) words = Buffer.concat([words, chunk]).subarray(0, OUTPUT_BYTES_MAX);
        });
        const end = (code: number | null, killedBy: string | null): void => {
          if (code === 0 && stoppedFor === null) {
            resolve();
            return;
          }
          const how = stoppedFor ?? (code === null ? `was killed by ${killedBy}.` : `ended with exit code ${code}.`);
          const said = words.toString('utf8').trim();
          reject(new Error(`${program} ${how}${said === '' ? '' : ` It wrote: ${said}`}`));
        };
        child.on('exit', (code, killedBy) => {
          leave();
          killGroup(child.pid);
          // The last output of the program may still be in the pipe. The wait is bounded, because a process that has
          // left the group could hold the pipe open for ever.
          const timeout = setTimeout(() => child.stderr.destroy(), OUTPUT_MS);
          child.on('close', () => {
            clearTimeout(timeout);
            end(code, killedBy);
          });
        });
        // A program need not read its stdin, so an error of the pipe is ignored.
        child.stdin.on('error', () => undefined);
        child.stdin.end(`${JSON.stringify(noticeDocument(notice))}\n`);
        if (signal.aborted) onAbort();
      });
    },
    async check() {
      try {
        await access(program, constants.X_OK);
        if (!(await stat(program)).isFile()) throw new Error('the path names no file');
      } catch (error) {
        throw new Error(`${program} cannot be run: ${error instanceof Error ? error.message : String(error)}.`);
      }
    },
  };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has already ended.
  }
}
