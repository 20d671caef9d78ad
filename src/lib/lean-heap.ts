import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** With more room for new objects than this, reading takes less time by a twentieth and far more memory. */
const NEW_SPACE_BYTES = 6 * 1024 * 1024;
/** More than most commands have at their end, and less than V8 waits for. */
const FIRST_COLLECTION_BYTES = 32 * 1024 * 1024;
const LOOK_EVERY_MS = 20;

/**
 * Has V8 keep less memory than it would by itself. A command that reads an export keeps little and throws away much, and would
 * hold 100 MB for nothing. Call it once, as the process begins. docs/performance.md has the figures.
 *
 * - What is garbage is collected before the heap has grown by half. By itself V8 lets a small heap grow to four times of what is alive.
 *   That counts from the first collection on, for which V8 waits long, so that one is asked for.
 * - The HTTP parser is WebAssembly. To optimize it takes 25 MB, and these commands make few requests.
 * - The room for new objects stops growing. Its greatest size is set by options of Node's start, and is larger for commands that send.
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

/** A context that is made while the flag is set has the function, and no other part of the program does. */
function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof gc === 'function') gc();
}
