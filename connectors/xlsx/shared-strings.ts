import { createTextGatherer } from './text-gatherer.ts';
import { createTextStore } from './text-store.ts';
import type { PartHandlers } from './xml-part.ts';

/** When the texts have more bytes than this, the rest is stored in a temporary file. */
const MEMORY_BYTES = 32 * 1024 * 1024;
const STRINGS_MAX = 10_000_000;

/** The texts that cells refer to by number. */
export interface SharedStrings {
  /** The text with a number; undefined if there is none. */
  get(index: number): string | undefined;
  /** Removes the temporary file. */
  close(): void;
}

/** The table for a workbook without shared texts. */
export const NO_STRINGS: SharedStrings = { get: () => undefined, close() {} };

/** Collects the texts of `sharedStrings.xml`. A workbook may have gigabytes of them. */
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
