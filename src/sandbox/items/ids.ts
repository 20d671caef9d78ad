import { randomInt, randomUUID } from 'node:crypto';
import { z } from 'zod';

/** An id in the form of the API. */
export type ResourceId = number | string;

/** How resources are identified. Rows always have a number. In the column `uuid` they have a UUID or another text, if numbers are not the ids. */
export interface IdScheme {
  /** The column with the id that the API shows. */
  column: 'id' | 'uuid';
  /** The UUID or other text of a new row, null if numbers are the ids. */
  freshUuid(): string | null;
  /** Reads an id from a path; null if the text cannot be an id. */
  fromPath(text: string): ResourceId | null;
  /** Validates an id inside a body. An id of another JSON type is an error even if the text is the same. */
  reference: z.ZodType<ResourceId>;
}

/** Large enough that no two ids of a sandbox are equal. */
const TEXT_ID_MAX = 2 ** 47;

export function createIdScheme(kind: 'numeric' | 'uuid' | 'text'): IdScheme {
  const expected = kind === 'numeric' ? 'number' : 'string';
  const reference = {
    error: ({ input }: { input?: unknown }) => {
      if (input === undefined) return 'This field is required.';
      if (input === null) return 'This field may not be null.';
      if (typeof input !== expected) return `Incorrect type. Expected a ${expected}, received a ${typeof input}.`;
      return Number.isInteger(input) ? 'This integer is out of range.' : 'A valid integer is required.';
    },
  };
  if (kind === 'numeric') {
    return {
      column: 'id',
      freshUuid: () => null,
      fromPath: (text) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : null),
      reference: z.int(reference),
    };
  }
  if (kind === 'text') {
    return {
      column: 'uuid',
      freshUuid: () => `dpp_${randomInt(TEXT_ID_MAX)}`,
      fromPath: (text) => (/^dpp_\d{1,15}$/.test(text) ? text : null),
      reference: z.string(reference),
    };
  }
  return {
    column: 'uuid',
    freshUuid: () => randomUUID(),
    fromPath: (text) => (z.guid().safeParse(text).success ? text.toLowerCase() : null),
    reference: z.string(reference),
  };
}
