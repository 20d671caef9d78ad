import { describe, expect, it } from 'vitest';
import { redisTroubleOf } from '../../../src/queue/queue-errors.ts';

/** A reply as ioredis throws it. */
const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

const CLUSTER = 'it is a node of a Redis Cluster, which cannot hold the queues.';
const REPLICA = 'it is a replica, which accepts no writes.';
const OTHER = /^it does not know the commands of the queues\. It may be a Sentinel/;

describe('an error of Redis', () => {
  it.each<[string, string | RegExp, string]>([
    ['MOVED 3999 127.0.0.1:6381', CLUSTER, 'no cluster'],
    ['ASK 3999 127.0.0.1:6381', CLUSTER, 'no cluster'],
    ["CROSSSLOT Keys in request don't hash to the same slot", CLUSTER, 'no cluster'],
    ['CLUSTERDOWN Hash slot not served', CLUSTER, 'no cluster'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', CLUSTER, 'no cluster'],
    [
      "READONLY You can't write against a read only replica. script: 2e3d2277, on @user_script:207.",
      REPLICA,
      'accepts writes',
    ],
    [
      "ERR Error running script (call to f_2e3d): @user_script:207: @user_script: 207: -READONLY You can't write against a read only replica.",
      REPLICA,
      'accepts writes',
    ],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", /lost its primary/, 'writes'],
    ['NOREPLICAS Not enough good replicas to write.', /too few of its replicas/, 'min-replicas-to-write'],
    ["ERR unknown command 'eval', with args beginning with: '--[[   Drains the queue' ", OTHER, 'not its Sentinel'],
    ['ERR unknown command `evalsha`, with args beginning with: `4a2c`, ', OTHER, 'not its Sentinel'],
  ])('has a cause and a cure: %s', (message, what, cure) => {
    const trouble = redisTroubleOf(reply(message));
    expect(trouble.what).toMatch(what);
    expect(trouble.cure).toContain(cure);
    expect(trouble.cure).toMatch(/\.$/);
    expect(JSON.stringify(trouble)).not.toContain('user_script');
  });

  it('that is not known stays as it is, as a sentence', () => {
    expect(redisTroubleOf(reply("ERR wrong number of arguments for 'set' command ")).what).toBe(
      "ERR wrong number of arguments for 'set' command.",
    );
  });
});
