import { createTextGatherer } from './text-gatherer.ts';
import { createTextStore } from './text-store.ts';
import type { PartHandlers } from './xml-part.ts';

/** Beyond this number of bytes, texts are kept in a temporary file. */
const MEMORY_BYTES = 32 * 1024 * 1024;
const STRINGS_MAX = 10_000_000;

/** The texts that cells refer to by number. */
export interface SharedStrings {
  /** Undefined for a number that there is no text for. */
  get(index: number): string | undefined;
  /** Removes the temporary file. */
  close(): void;
}

/** The table of a workbook that has none. */
export const NO_STRINGS: SharedStrings = { get: () => undefined, close() {} };

/** Gathers the texts of `sharedStrings.xml`, of which a workbook may hold gigabytes. */
export function createStringTable(options: { cellMax: number; memoryBytes?: number }): {
  part: PartHandlers;
  strings: SharedStrings;
} {
  const { cellMax, memoryBytes = MEMORY_BYTES } = options;
  const text = createTextGatherer(cellMax);
  const texts = createTextStore({ memoryBytes });
  const part: PartHandlers = {
    open(name) {
      if (name === 'si') text.begin();
      else text.open(name);
    },
    text: (piece) => text.add(piece),
    close(name) {
      if (name !== 'si') {
        text.close(name);
        return;
      }
      texts.add(text.take());
      if (texts.count > STRINGS_MAX) throw new Error(`it has more than ${STRINGS_MAX} texts`);
    },
  };
  return { part, strings: texts };
}
