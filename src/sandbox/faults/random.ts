/** Pseudo-random numbers from 0 to 1, which are the same for the same seed (Marsaglia's xorshift32). */
export function createRandom(seed: number): () => number {
  // The state must not be zero, because it would stay zero. An odd multiplier distributes small seeds over the 32 bits.
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
