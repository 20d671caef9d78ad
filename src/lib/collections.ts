import { sha256Hex } from './hash.ts';

/** A growing set of non-negative integers, one bit each. */
export function createBitmap() {
  let bytes = new Uint8Array(1024);
  let size = 0;
  return {
    has: (index: number): boolean => ((bytes[index >>> 3] ?? 0) & (1 << (index & 7))) !== 0,
    add(index: number): void {
      const at = index >>> 3;
      if (at >= bytes.length) {
        const grown = new Uint8Array(Math.max(at + 1, bytes.length * 2));
        grown.set(bytes);
        bytes = grown;
      }
      const before = bytes[at] ?? 0;
      const after = before | (1 << (index & 7));
      if (after !== before) size += 1;
      bytes[at] = after;
    },
    /** How many integers the set has. */
    size: (): number => size,
  };
}

interface Node<T> {
  value: T;
  before: Node<T> | null;
  after: Node<T> | null;
}

/**
 * A list of different values. Adding a value at either end and removing any value take the same short time. The current
 * value may be removed during an iteration.
 */
export function createLinkedList<T>() {
  const nodes = new Map<T, Node<T>>();
  let head: Node<T> | null = null;
  let tail: Node<T> | null = null;

  function link(node: Node<T>): void {
    nodes.set(node.value, node);
    if (node.before === null) head = node;
    else node.before.after = node;
    if (node.after === null) tail = node;
    else node.after.before = node;
  }

  return {
    append: (value: T): void => link({ value, before: tail, after: null }),
    prepend: (value: T): void => link({ value, before: null, after: head }),
    /** False if the value is not in the list. */
    remove(value: T): boolean {
      const node = nodes.get(value);
      if (node === undefined) return false;
      nodes.delete(value);
      if (node.before === null) head = node.after;
      else node.before.after = node.after;
      if (node.after === null) tail = node.before;
      else node.after.before = node.before;
      return true;
    },
    first: (): T | undefined => head?.value,
    size: (): number => nodes.size,
    *[Symbol.iterator](): Generator<T> {
      for (let node = head; node !== null; node = node.after) yield node.value;
    },
    /** The values from the last to the first. */
    *reversed(): Generator<T> {
      for (let node = tail; node !== null; node = node.before) yield node.value;
    },
  };
}

export type LinkedList<T> = ReturnType<typeof createLinkedList<T>>;

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
  function placeOf({ high, low }: Pick<Mark, 'high' | 'low'>): number {
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
      if (high !== 0 || low !== 0) slots.set([high, low, content], placeOf({ high, low }));
    }
  }

  function look(mark: Mark, { adds }: { adds: boolean }): Seen {
    const at = placeOf(mark);
    if (!isFree(at)) return slots[at + 2] === mark.content ? 'same' : 'other';
    if (count === max) return 'unknown';
    if (!adds) return 'new';
    count += 1;
    const isFull = WORDS * SLOTS_PER_TEXT * count > slots.length;
    if (isFull) grow();
    const { high, low, content } = mark;
    slots.set([high, low, content], isFull ? placeOf(mark) : at);
    return 'new';
  }

  return {
    look: (mark: Mark): Seen => look(mark, { adds: false }),
    /** Remembers a new name, within the bound. */
    add: (mark: Mark): void => void look(mark, { adds: true }),
    /** Looks, and remembers a new name. */
    note: (mark: Mark): Seen => look(mark, { adds: true }),
  };
}

export type SeenTexts = ReturnType<typeof createSeenTexts>;

/** A name and its content, in the form in which they are remembered. */
export interface Mark {
  high: number;
  low: number;
  content: number;
}

/** Many names have no content. */
const OF_NOTHING = wordsOf('')[0];

export function markOf(name: string, content: string): Mark {
  const [high, low] = wordsOf(name);
  return { high, low, content: content === '' ? OF_NOTHING : wordsOf(content)[0] };
}

function wordsOf(text: string): readonly [high: number, low: number] {
  const digest = sha256Hex(text);
  return [Number.parseInt(digest.slice(0, 8), 16), Number.parseInt(digest.slice(8, 16), 16)];
}

/** An object type whose members are absent where they may be undefined. */
type Present<Of> = {
  [Name in keyof Of as undefined extends Of[Name] ? never : Name]: Of[Name];
} & {
  [Name in keyof Of as undefined extends Of[Name] ? Name : never]?: Exclude<Of[Name], undefined>;
};

/** An object without its members that are undefined. */
export function withoutAbsent<Of extends object>(members: Of): Present<Of> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Of>;
}
