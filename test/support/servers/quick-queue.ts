import { afterAll, beforeAll } from 'vitest';
import { type RedisServer, redisAvailable, startRedis } from './redis.ts';

/**
 * The queue of a test file that is not about queues: a Redis of its own, and the embedded one where there is none. Gives its
 * URL, from the first test on.
 */
export function quickQueue(): () => string {
  let redis: RedisServer | null = null;
  beforeAll(async () => {
    if (redisAvailable) redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  return () => redis?.url ?? 'embedded';
}
