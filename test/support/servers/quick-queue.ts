import { afterAll, beforeAll } from 'vitest';
import { type RedisServer, redisAvailable, startRedis } from './redis.ts';

/**
 * The queue for a test file that does not test queues: a new Redis, or the embedded queue if there is no Redis. Returns
 * its URL, which is there when the first test begins.
 */
export function quickQueue(): () => string {
  let redis: RedisServer | null = null;
  beforeAll(async () => {
    if (redisAvailable) redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  return () => redis?.url ?? 'embedded';
}
