/** A list of different values. Adding a value at either end and removing any value take the same short time. */
export interface LinkedList<T> extends Iterable<T> {
  append(value: T): void;
  prepend(value: T): void;
  /** False if the value is not in the list. */
  remove(value: T): boolean;
  first(): T | undefined;
  size(): number;
}

interface Node<T> {
  value: T;
  before: Node<T> | null;
  after: Node<T> | null;
}

/** The current value may be removed during an iteration. */
export function createLinkedList<T>(): LinkedList<T> {
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
    append: (value) => link({ value, before: tail, after: null }),
    prepend: (value) => link({ value, before: null, after: head }),
    remove(value) {
      const node = nodes.get(value);
      if (node === undefined) return false;
      nodes.delete(value);
      if (node.before === null) head = node.after;
      else node.before.after = node.after;
      if (node.after === null) tail = node.before;
      else node.after.before = node.before;
      return true;
    },
    first: () => head?.value,
    size: () => nodes.size,
    *[Symbol.iterator]() {
      for (let node = head; node !== null; node = node.after) yield node.value;
    },
  };
}
