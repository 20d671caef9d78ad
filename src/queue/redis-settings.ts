import type { Redis } from 'ioredis';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

const RECOMMENDED_VERSION = [6, 2] as const;

/**
 * Warns of settings with which Redis loses jobs. The ledger makes good for what is lost, at the cost of latency and of the
 * list of failed jobs, so these are warnings.
 */
export async function warnOfRedisSettings(client: Redis, place: string, log: Logger): Promise<void> {
  const info = await readInfo(client, place, log);
  if (info === undefined) return;
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn(
      { redis: place, policy },
      `Redis evicts jobs when its memory is full: set maxmemory-policy to noeviction.`,
    );
  }
  if (info.get('aof_enabled') === '0') {
    log.warn({ redis: place }, 'Redis forgets jobs when it crashes: set appendonly to yes.');
  }
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (
    version !== '' &&
    (major < RECOMMENDED_VERSION[0] || (major === RECOMMENDED_VERSION[0] && minor < RECOMMENDED_VERSION[1]))
  ) {
    log.warn(
      { redis: place, version },
      `Redis ${version} is older than ${RECOMMENDED_VERSION.join('.')}, which BullMQ asks for.`,
    );
  }
}

async function readInfo(client: Redis, place: string, log: Logger): Promise<Map<string, string> | undefined> {
  try {
    const lines = (await client.info()).split(/\r?\n/).filter((line) => line.includes(':'));
    return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
  } catch (error) {
    log.warn(
      { redis: place, error: messageOf(error) },
      'The settings of Redis could not be read, so they were not checked.',
    );
    return undefined;
  }
}
