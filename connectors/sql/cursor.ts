import { type JsonValue, sourceFault, z } from '../../src/sdk/index.ts';

const Cursor = z.strictObject({
  by: z.array(z.string()).min(1),
  watermark: z.string().nullable(),
  after: z.array(z.string()).optional(),
});

/**
 * The position at which a read of changes begins. A read takes the greatest watermark of the source before its first
 * row, and the next read begins there. So the next read also finds rows that were committed before the position that a
 * long read had already reached.
 */
export type Cursor = {
  /** The columns by which changes are read in order: the watermark first. */
  by: string[];
  /** The greatest watermark when the read began; null if there was none. */
  watermark: string | null;
  /** The last row that was passed on by a read that is not complete. */
  after?: string[];
};

/**
 * Parses a stored cursor. Null means to read from the beginning: there is no cursor yet, or it belongs to other columns
 * than those of the stream.
 *
 * @throws a `sourceFault` if it is not a cursor of this connector
 */
export function cursorOf(value: JsonValue | null, by: readonly string[], stream: string): Cursor | null {
  if (value === null) return null;
  const { success, data } = Cursor.safeParse(value);
  const { by: stored, watermark, after } = data ?? { by: [], watermark: null };
  if (!success || (after !== undefined && after.length !== stored.length)) {
    throw sourceFault(`The stored position of the stream ${stream} was not written by the sql connector.`, {
      suggestion: 'Give the stream another name, so that it is read from the beginning.',
    });
  }
  const isSame = stored.length === by.length && stored.every((name, at) => name === by[at]);
  return isSame ? { by: stored, watermark, ...(after === undefined ? {} : { after }) } : null;
}
