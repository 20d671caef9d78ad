import type { Mapper } from '../domain/mapping.ts';
import type { StreamReads } from '../domain/ports/source.ts';
import { type IdentifyingMapping, type StreamIdentity, wasChosenAmong } from '../domain/stream-identity.ts';

/** What identifies the rows of a stream without `key`, for people. */
export interface RowIdentity {
  text: string;
  /** True if a row that changes counts as another row, so that a person should name key columns. */
  isWeak: boolean;
}

const EFFECT = 'So a row that changes counts as a new row.';
const CURE = 'Name the columns that identify a row in `key` of the stream: the stored rows keep their items then.';

/** Null for a stream from which no mapping makes items: its rows need no identity. */
export function rowIdentityOf(
  { name, reads }: { name: string; reads: StreamReads },
  { mapper, stored }: { mapper: Pick<Mapper, 'streams' | 'identifying'>; stored: StreamIdentity | null },
): RowIdentity | null {
  if (!mapper.streams.includes(name)) return null;
  const own = mapper.identifying?.byStream.get(name) ?? [];
  const weak = (why: string, effect = EFFECT): RowIdentity => ({
    text: `The content of a row identifies it, because ${why}. ${effect} ${CURE}`,
    isWeak: true,
  });
  if (own.length === 0) return weak('no mapping of the stream has one key for each row that depends on the row alone');
  if (stored?.by === 'mappings' && wasChosenAmong(stored, own)) {
    const chosen = own.filter(({ expressions }) => stored.mappings.includes(expressions));
    if (chosen.length === 0) {
      const why = `no key was unique in the complete read that has decided: ${listOf(own)}`;
      return weak(
        why,
        'The next run chooses a key by which all rows that make items differ. Without one, a row that changes counts as a new row.',
      );
    }
    return { text: `A row is identified by ${keyWords(chosen)}.`, isWeak: false };
  }
  if (reads === 'changes')
    return weak('the stream gives changes only, and no complete read shows whether a key is unique');
  return {
    text: `The next complete read decides what identifies a row: of ${listOf(own)}, the first key that is unique, or else the content of the row.`,
    isWeak: false,
  };
}

function keyWords(mappings: readonly IdentifyingMapping[]): string {
  return mappings.length === 1 ? `the key of ${listOf(mappings)}` : `the first key that it has: ${listOf(mappings)}`;
}

function listOf(mappings: readonly IdentifyingMapping[]): string {
  return mappings.map(({ path, key }) => `${path} (${key})`).join(', ');
}
