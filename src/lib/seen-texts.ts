import { sha256Hex } from './hash.ts';

/**
 * What is known of a name: whether it came before with the same content or with another one. `unknown` is a new name beyond the
 * bound, which is not remembered.
 */
type Seen = 'new' | 'same' | 'other' | 'unknown';

const SLOTS_AT_FIRST = 1_024;
/** The table has at least this many slots for each text, so that a free slot is near. */
const SLOTS_PER_TEXT = 2;

/** The words of a slot: two for the name, one for the content. */
const WORDS = 3;

/**
 * Names with the content that each had first. Remembers names and contents. It keeps 64 bits of the SHA-256 of a name
 * and 32 bits of that of its content, which take 24 to 48 bytes. Of two million names two have the same 64 bits with a
 * probability of one in ten million.
 *
 * @param max how many different names are remembered (I9)
 */
export function createSeenTexts(max: number) {
  // A slot whose name is two zeros is free.
  let slots = new Uint32Array(WORDS * SLOTS_AT_FIRST);
  let count = 0;

  /** The place of the slot that has this name, or of the free slot where it belongs. */
  function placeOf([high, low]: Digest): number {
    for (let at = (WORDS * low) % slots.length; ; at = (at + WORDS) % slots.length) {
      const [first, second] = [slots[at], slots[at + 1]];
      if ((first === high && second === low) || (first === 0 && second === 0)) return at;
    }
  }

  const isFree = (at: number) => slots[at] === 0 && slots[at + 1] === 0;

  function grow(): void {
    const former = slots;
    slots = new Uint32Array(2 * former.length);
    for (let at = 0; at < former.length; at += WORDS) {
      const [high = 0, low = 0, content = 0] = former.subarray(at, at + WORDS);
      if (high !== 0 || low !== 0) slots.set([high, low, content], placeOf([high, low]));
    }
  }

  function note(name: string, content: string, { adds }: { adds: boolean }): Seen {
    const digest = digestOf(name);
    const at = placeOf(digest);
    const [first] = digestOf(content);
    if (!isFree(at)) return slots[at + 2] === first ? 'same' : 'other';
    if (count === max) return 'unknown';
    if (!adds) return 'new';
    count += 1;
    const isFull = WORDS * SLOTS_PER_TEXT * count > slots.length;
    if (isFull) grow();
    slots.set([...digest, first], isFull ? placeOf(digest) : at);
    return 'new';
  }

  return {
    look: (name: string, content: string): Seen => note(name, content, { adds: false }),
    /** Remembers a new name, within the bound. */
    add: (name: string, content: string): void => void note(name, content, { adds: true }),
    /** Looks, and remembers a new name. */
    note: (name: string, content: string): Seen => note(name, content, { adds: true }),
  };
}

type Digest = readonly [high: number, low: number];

function digestOf(text: string): Digest {
  const digest = sha256Hex(text);
  return [Number.parseInt(digest.slice(0, 8), 16), Number.parseInt(digest.slice(8, 16), 16)];
}
