import { describe, expect, it } from 'vitest';
import { detailOf, namedMembers } from '../../../src/admin/audit.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

const keys = (count: number, length: number) => Array.from({ length: count }, (_, at) => `K-${at}`.padEnd(length, '0'));

describe('a list in the audit log', () => {
  it.each([
    ['a few short keys', keys(3, 4), 3],
    ['more keys than an entry names', keys(500, 4), 20],
    ['keys that are long', keys(30, 30), 6],
    ['one key that is too long', keys(2, 300), 1],
  ])('a list in the audit log names whole members, and how many there are further: %s', (_, all, named) => {
    const text = detailOf({ keys: all }, createSecretStore())['keys'] as string;
    const { members, more } = namedMembers(text);
    expect(members).toHaveLength(named);
    expect(more).toBe(named === all.length ? '' : ` and ${all.length - named} more`);
    if (named > 1) expect(members).toEqual(all.slice(0, named));
  });
});
