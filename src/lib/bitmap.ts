/** A growing set of non-negative integers, one bit each. */
export interface Bitmap {
  has(index: number): boolean;
  add(index: number): void;
}

export function createBitmap(): Bitmap {
  let bytes = new Uint8Array(1024);
  return {
    has: (index) => ((bytes[index >>> 3] ?? 0) & (1 << (index & 7))) !== 0,
    add(index) {
      const at = index >>> 3;
      if (at >= bytes.length) {
        const grown = new Uint8Array(Math.max(at + 1, bytes.length * 2));
        grown.set(bytes);
        bytes = grown;
      }
      bytes[at] = (bytes[at] ?? 0) | (1 << (index & 7));
    },
  };
}
