import type { Redis } from 'ioredis';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';

const RECOMMENDED_VERSION = [6, 2] as const;

interface RedisSettings {
  /** Null if Redis does not report it. */
  version: string | null;
  warnings: RedisWarning[];
}

interface RedisWarning {
  message: string;
  /** What the message is about, for the log. */
  fields: Record<string, string>;
}

/**
 * Looks for settings with which Redis loses jobs. Lost jobs are enqueued again from the ledger, which costs time and the list of
 * failed jobs, so these settings are warnings.
 */
export async function readRedisSettings(client: Redis): Promise<RedisSettings> {
  let info: Map<string, string>;
  try {
    info = await readInfo(client);
  } catch (error) {
    const message = 'The settings of Redis could not be read, so they were not checked.';
    return { version: null, warnings: [{ message, fields: { error: messageOf(error) } }] };
  }
  const warnings = warningsOfRole(info);
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push({
      message: 'Redis evicts jobs when its memory is full: set maxmemory-policy to noeviction.',
      fields: { policy },
    });
  }
  if (info.get('aof_enabled') === '0') {
    warnings.push({ message: 'Redis forgets jobs when it crashes: set appendonly to yes.', fields: {} });
  }
  const version = info.get('redis_version') ?? null;
  if (version !== null && isOld(version)) {
    const recommended = RECOMMENDED_VERSION.join('.');
    warnings.push({
      message: `Redis ${version} is older than ${recommended}, which BullMQ asks for.`,
      fields: { version },
    });
  }
  return { version, warnings };
}

/** A server that answers, but cannot hold the queues. A proxy may report such a role too, so this is only a warning. */
function warningsOfRole(info: ReadonlyMap<string, string>): RedisWarning[] {
  const mode = info.get('redis_mode');
  const role = info.get('role');
  const warnings: RedisWarning[] = [];
  if (mode === 'sentinel') {
    const message = 'This is a Sentinel, which has no queues: name the Redis itself in `queue`.';
    warnings.push({ message, fields: { mode } });
  }
  if (mode === 'cluster') {
    const message =
      'Redis is a node of a cluster, which cannot hold the queues: name a Redis that is no cluster in `queue`.';
    warnings.push({ message, fields: { mode } });
  }
  if (role === 'slave') {
    const message = 'Redis is a replica, which accepts no writes: name the Redis that accepts writes in `queue`.';
    warnings.push({ message, fields: { role } });
  }
  return warnings;
}

/** Logs what `readRedisSettings` warns of. */
export async function warnOfRedisSettings(client: Redis, place: string, log: Logger): Promise<void> {
  const { warnings } = await readRedisSettings(client);
  for (const { message, fields } of warnings) log.warn({ redis: place, ...fields }, message);
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < RECOMMENDED_VERSION[0] || (major === RECOMMENDED_VERSION[0] && minor < RECOMMENDED_VERSION[1]);
}

async function readInfo(client: Redis): Promise<Map<string, string>> {
  const lines = (await client.info()).split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}
