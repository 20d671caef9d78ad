/** Numbers from 0 up to 1 that look random and are the same for the same seed (Marsaglia's xorshift32). */
export function createRandom(seed: number): () => number {
  // Zero would stay zero; an odd multiplier spreads small seeds over the 32 bits.
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
