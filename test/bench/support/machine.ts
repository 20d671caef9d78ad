import { execFileSync } from 'node:child_process';
import { arch, cpus, platform, release, totalmem } from 'node:os';

/** Where a benchmark ran, in one sentence: figures are of no use without it. */
export function machine(): string {
  const [first] = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const redis = /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
  const today = new Date().toISOString().slice(0, 10);
  return `${today}, ${cpus().length} × ${first?.model.trim() ?? 'unknown'}, ${memoryGb} GB, ${platform()} ${release()} ${arch()}, Node ${process.versions.node}, Redis ${redis}`;
}
