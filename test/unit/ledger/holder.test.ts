import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { describeHolder, type LedgerHolder, thisHolder } from '../../../src/ledger/file/lock.ts';

const LOCK = '/data/ledger.db.lock';
const mine: LedgerHolder = thisHolder({ command: 'start', now: Date.UTC(2027, 0, 15, 2, 30) });
const described = (holder: LedgerHolder | null) => describeHolder(holder, LOCK);

describe('the message about who holds a ledger', () => {
  it('the message about who holds a ledger names a process that is alive', () => {
    expect(described(mine)).toEqual({
      who: `"dpp-sync start" (process ${process.pid}, since 2027-01-15T02:30:00.000Z)`,
      find: '',
    });
  });

  it('the message about who holds a ledger names a process whose machine was given another name meanwhile', () => {
    expect(described({ ...mine, host: 'elsewhere' }).find).toBe('');
  });

  it('the message about who holds a ledger names another process that is alive, from a note of an earlier version', async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const { command, since } = mine;
    expect(described({ pid: child.pid ?? 0, command, since }).who).toContain(`"dpp-sync start" (process ${child.pid}`);
    child.kill();
    await once(child, 'exit');
  });

  const ended = spawnSync('true').pid;
  it.each<[string, LedgerHolder | null]>([
    ['nobody is noted', null],
    ['the one that is noted has ended', { ...mine, pid: ended, began: '1' }],
    ['its pid is that of a later process', { ...mine, began: '1' }],
    ['the machine was restarted since', { ...mine, boot: 'another boot' }],
  ])('the message about who holds a ledger names nobody where %s, and says how to find the holder', (_, holder) => {
    const { who, find } = described(holder);
    expect(who).toContain('could not be determined');
    expect(who).not.toContain('dpp-sync start');
    expect(find).toContain(`fuser -v ${LOCK}`);
  });

  it.each<[string, LedgerHolder]>([
    ['another host', { ...mine, host: 'elsewhere', boot: 'another boot' }],
    ['another container', { ...mine, host: 'elsewhere', pidNamespace: 'pid:[1]' }],
    ['another container of the same host name', { ...mine, pidNamespace: 'pid:[1]' }],
  ])('the message about who holds a ledger has what is known of a process of %s', (_, holder) => {
    const { who, find } = described(holder);
    expect(who).toContain(`"dpp-sync start" (process ${process.pid} on host ${holder.host}`);
    expect(who).toContain('cannot check whether it still runs');
    expect(find).toContain('Look on that machine or in that container.');
  });
});
