import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The room for new objects. With more room, reading takes a twentieth less time but far more memory. */
const NEW_SPACE_BYTES = 6 * 1024 * 1024;
/**
 * The size of the heap at which it is first collected. Most commands end with a smaller heap, and V8 alone would wait
 * longer.
 */
const FIRST_COLLECTION_BYTES = 32 * 1024 * 1024;
const LOOK_EVERY_MS = 20;

/**
 * Makes V8 collect garbage before the heap has doubled. By default V8 lets a small heap grow to four times the size of the
 * live objects, so a long sync would keep 100 MB that it does not need. Call it once, as the process begins.
 * docs/performance.md has the figures.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=100');
}

/**
 * Makes V8 keep even less memory than `limitHeapGrowth`. A command that reads an export makes many objects but keeps few,
 * and would keep 100 MB that it does not need. Call it once, as the process begins. docs/performance.md has the figures.
 *
 * - Garbage is collected before the heap has grown by half. This rule only applies after the first collection. V8 would
 *   wait long before the first collection, so this function requests it.
 * - The HTTP parser is WebAssembly. Optimising it would take 25 MB, and these commands send few requests.
 * - The room for new objects stops growing. Options of Node's start set its greatest size, which is larger for commands
 *   that send.
 */
export function keepHeapLean(): void {
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
  const steps: [isDue: () => boolean, take: () => void][] = [
    [() => newSpaceBytes() >= NEW_SPACE_BYTES, () => setFlagsFromString('--semi-space-growth-factor=1')],
    [() => getHeapStatistics().used_heap_size >= FIRST_COLLECTION_BYTES, collect],
  ];
  const timer = setInterval(() => {
    const due = steps.findIndex(([isDue]) => isDue());
    const [step] = due === -1 ? [] : steps.splice(due, 1);
    step?.[1]();
    if (steps.length === 0) clearInterval(timer);
  }, LOOK_EVERY_MS);
  timer.unref();
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.physical_space_size ?? 0;
}

/** Only a context that is made while the flag is set has the function `gc`, so no other part of the program has it. */
function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof gc === 'function') gc();
}
