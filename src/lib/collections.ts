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
