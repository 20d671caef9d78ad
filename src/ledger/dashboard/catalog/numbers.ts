/** A list of whole numbers below 2^32 that grows. A typed array takes four bytes a number, outside the heap. */
export interface Numbers {
  readonly length: number;
  at(index: number): number;
  set(index: number, value: number): void;
  push(value: number): void;
  /** The index of the first number that is greater; the numbers have to be in rising order. */
  indexAfter(value: number): number;
}

const CAPACITY_FIRST = 1024;

export function createNumbers(): Numbers {
  let values = new Uint32Array(CAPACITY_FIRST);
  let length = 0;
  return {
    get length() {
      return length;
    },
    at: (index) => values[index] ?? 0,
    set(index, value) {
      values[index] = value;
    },
    push(value) {
      if (length === values.length) {
        const larger = new Uint32Array(length * 2);
        larger.set(values);
        values = larger;
      }
      values[length] = value;
      length += 1;
    },
    indexAfter(value) {
      let from = 0;
      let to = length;
      while (from < to) {
        const middle = (from + to) >>> 1;
        if ((values[middle] ?? 0) > value) to = middle;
        else from = middle + 1;
      }
      return from;
    },
  };
}
