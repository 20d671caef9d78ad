import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** With more room for new objects than this, reading takes less time by a twentieth and far more memory. */
const NEW_SPACE_BYTES = 6 * 1024 * 1024;
const LOOK_EVERY_MS = 20;

/**
 * Has V8 keep less memory than it would by itself: a sync keeps little and throws away much, and would hold 200 MB for nothing. Call
 * it once, as the process begins. docs/performance.md has the figures.
 *
 * - What is garbage is collected before the heap has grown by half. By itself V8 lets a small heap grow to four times of what is alive.
 * - The HTTP parser is WebAssembly. To optimize it takes 25 MB, and the program waits for the network and the disk, not for its parser.
 * - The room for new objects stops growing. Only the options of Node's start could set its size (the scripts of package.json, the launcher
 *   and the image have them), and a Node that was started by its own name has no options.
 */
export function keepHeapLean(): void {
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
  const timer = setInterval(() => {
    if (newSpaceBytes() < NEW_SPACE_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(timer);
  }, LOOK_EVERY_MS);
  timer.unref();
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.physical_space_size ?? 0;
}
