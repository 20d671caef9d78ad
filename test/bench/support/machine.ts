import { spawnSync } from 'node:child_process';
import { arch, cpus, platform, release, totalmem } from 'node:os';

/** The machine on which a benchmark ran, in one line. Figures are of no use without it. */
export function machine(): string {
  const [first] = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  // Not every benchmark needs a Redis, so it may be missing.
  const redis = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  const redisVersion = redis.error ? 'none' : (/v=(\S+)/.exec(redis.stdout)?.[1] ?? 'unknown');
  const today = new Date().toISOString().slice(0, 10);
  return `${today}, ${cpus().length} × ${first?.model.trim() ?? 'unknown'}, ${memoryGb} GB, ${platform()} ${release()} ${arch()}, Node ${process.versions.node}, Redis ${redisVersion}`;
}
