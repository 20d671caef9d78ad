import { sha256Hex } from './hash.ts';

/** Whether a text came before. `unknown` is for a new text beyond the bound, which is not remembered. */
export type Seen = 'new' | 'before' | 'unknown';

const SLOTS_AT_FIRST = 1_024;
/** The table has at least this many slots for each text, so that a free slot is near. */
const SLOTS_PER_TEXT = 2;

/**
 * Makes a function that remembers texts and returns whether a text came before. It keeps 64 bits of the SHA-256 of a
 * text, which take 16 to 32 bytes. Of two million texts two have the same 64 bits with a probability of one in ten
 * million.
 *
 * @param max how many different texts are remembered (I9)
 */
export function createSeenTexts(max: number): (text: string) => Seen {
  // Each slot is two words. A slot of two zeros is free.
  let slots = new Uint32Array(2 * SLOTS_AT_FIRST);
  let count = 0;

  /** The position of the slot that has these bits, or of the free slot for them. */
  function placeOf(high: number, low: number): number {
    for (let at = (2 * low) % slots.length; ; at = (at + 2) % slots.length) {
      const [first, second] = [slots[at], slots[at + 1]];
      if ((first === high && second === low) || (first === 0 && second === 0)) return at;
    }
  }

  function store(high: number, low: number): void {
    const at = placeOf(high, low);
    slots[at] = high;
    slots[at + 1] = low;
  }

  function grow(): void {
    const former = slots;
    slots = new Uint32Array(2 * former.length);
    for (let at = 0; at < former.length; at += 2) {
      const [high = 0, low = 0] = [former[at], former[at + 1]];
      if (high !== 0 || low !== 0) store(high, low);
    }
  }

  return (text) => {
    const digest = sha256Hex(text);
    const high = Number.parseInt(digest.slice(0, 8), 16);
    const low = Number.parseInt(digest.slice(8, 16), 16);
    const at = placeOf(high, low);
    if (slots[at] === high && slots[at + 1] === low) return 'before';
    if (count === max) return 'unknown';
    count += 1;
    if (2 * SLOTS_PER_TEXT * count > slots.length) grow();
    store(high, low);
    return 'new';
  };
}
