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
