import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/** An id as the API shows it. */
export type ResourceId = number | string;

/** How resources are identified. Rows always have a number of their own; under `uuid` they have a UUID besides. */
export interface IdScheme {
  /** The column that holds what the API shows. */
  column: 'id' | 'uuid';
  /** The UUID of a new row, null where numbers serve. */
  freshUuid(): string | null;
  /** Reads an id out of a path; null when it cannot be one. */
  fromPath(text: string): ResourceId | null;
  /** Validates an id inside a body. Another JSON type is an error even where the text would be the same. */
  reference: z.ZodType<ResourceId>;
}

export function createIdScheme(kind: 'numeric' | 'uuid'): IdScheme {
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
  return {
    column: 'uuid',
    freshUuid: () => randomUUID(),
    fromPath: (text) => (z.guid().safeParse(text).success ? text.toLowerCase() : null),
    reference: z.string(reference),
  };
}
