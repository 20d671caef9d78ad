import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../support/servers/free-port.ts';
import type { Job, Result } from './contender.ts';

const run = promisify(execFile);

/** Starts a Redis that stores its data, as a Redis in production has to. */
export async function startRedis(folder: string): Promise<{ url: string; child: ChildProcess }> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', ''];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept')) break;
  return { url: `redis://127.0.0.1:${port}`, child };
}

interface Taken {
  writes: number;
  products: number;
  requests: number;
}

/** A platform that accepts everything. */
export interface AnsweringServer {
  baseUrl: string;
  /** The number of writes, of the products in them, and of all requests since the last call. */
  taken(): Promise<Taken>;
  stop(): void;
}

export async function startServer(latencyMs: number): Promise<AnsweringServer> {
  const child = fork(join(import.meta.dirname, 'answering-server-process.ts'), [String(latencyMs)], { silent: true });
  if (!child.stdout) throw new Error('the server has no output');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    baseUrl: line.toString().trim(),
    async taken() {
      child.send('taken');
      const [taken] = (await once(child, 'message')) as [Taken];
      return taken;
    },
    stop: () => void child.kill(),
  };
}

/** The options of Node that `npm run dpp-sync` gives. */
const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
  scripts: { 'dpp-sync': string };
};
export const FLAGS = scripts['dpp-sync'].split(' ').filter((word) => word.startsWith('--'));

/** Runs a contender, which is a script of `test/bench`, with a job. All contenders run in the same way. */
export async function compete(script: string, job: Job): Promise<Result> {
  const contender = join(import.meta.dirname, '..', script);
  const { stdout } = await run(process.execPath, [...FLAGS, contender, JSON.stringify(job)]);
  return JSON.parse(stdout) as Result;
}

export function writeCsv(file: string, count: number): void {
  const lines = Array.from({ length: count }, (_, at) => `SKU-${at + 1},"Bucket, steel, ${at % 20} l",DE`);
  writeFileSync(file, `SKU,NAME,COUNTRY\n${lines.join('\n')}\n`);
}

export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
