// Stores the texts of many items one after the other in a few buffers outside the heap. So a part of a text is found
// among a million texts in some milliseconds.

const BUFFER_BYTES = 1 << 20;
/** Marks the end of each text. No text contains it. */
const END = '\n';

/** The form of a text that is stored and searched. */
export function searchable(text: string): string {
  return text.toLowerCase().replaceAll(END, ' ');
}

interface Part {
  buffer: Buffer;
  length: number;
  /** The place of the first item in this buffer. */
  first: number;
}

export function createTextIndex() {
  const parts: Part[] = [];
  /** The offset of each text in its buffer. */
  const offsets = createNumbers();

  function partFor(bytes: number): Part {
    const last = parts.at(-1);
    if (last !== undefined && last.length + bytes <= last.buffer.length) return last;
    const next = { buffer: Buffer.allocUnsafeSlow(Math.max(BUFFER_BYTES, bytes)), length: 0, first: offsets.length };
    parts.push(next);
    return next;
  }

  /** The place of the item that has the byte at this offset. */
  function placeAt(part: Part, after: number, offset: number): number {
    let from = part.first;
    let to = after;
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      if (offsets.at(middle) <= offset) from = middle;
      else to = middle;
    }
    return from;
  }

  /** The place after the last item of a part. */
  const endOf = (at: number): number => parts[at + 1]?.first ?? offsets.length;

  return {
    /** Adds the text of the next item. */
    push(text: string): void {
      const bytes = Buffer.from(`${searchable(text)}${END}`);
      const part = partFor(bytes.length);
      offsets.push(part.length);
      bytes.copy(part.buffer, part.length);
      part.length += bytes.length;
    },

    /**
     * The places of items whose text has this part, in rising order.
     *
     * @param from the first place that is searched
     */
    *find(part: string, from: number): Generator<number> {
      const sought = Buffer.from(searchable(part));
      for (const [at, one] of parts.entries()) {
        const end = endOf(at);
        if (end <= from) continue;
        const text = one.buffer.subarray(0, one.length);
        let offset = from > one.first ? offsets.at(from) : 0;
        for (;;) {
          const hit = text.indexOf(sought, offset);
          if (hit < 0) break;
          const place = placeAt(one, end, hit);
          yield place;
          if (place + 1 >= end) break;
          offset = offsets.at(place + 1);
        }
      }
    },

    has(place: number, part: string): boolean {
      const at = parts.findLastIndex(({ first }) => first <= place);
      const one = parts[at];
      if (one === undefined) return false;
      const end = place + 1 < endOf(at) ? offsets.at(place + 1) : one.length;
      return one.buffer.subarray(offsets.at(place), end).includes(Buffer.from(searchable(part)));
    },
  };
}

const CAPACITY_FIRST = 1024;

/** A list of whole numbers below 2^32 that grows. A typed array takes four bytes a number, outside the heap. */
export function createNumbers() {
  let values = new Uint32Array(CAPACITY_FIRST);
  let length = 0;
  return {
    get length() {
      return length;
    },
    at: (index: number) => values[index] ?? 0,
    set(index: number, value: number): void {
      values[index] = value;
    },
    push(value: number): void {
      if (length === values.length) {
        const larger = new Uint32Array(length * 2);
        larger.set(values);
        values = larger;
      }
      values[length] = value;
      length += 1;
    },
    /** The index of the first number that is greater; the numbers have to be in rising order. */
    indexAfter(value: number): number {
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
