import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { CorrectionResult } from '../pipeline/store-page.ts';
import { worked } from './documents.ts';
import type { Operation } from './operation.ts';
import { goOn } from './runs.ts';

/** The values by column. A record of zod would drop a column with the name `__proto__`. */
const Fields = z.custom<JsonObject>(isJsonObject, 'an object').meta({ type: 'object', additionalProperties: {} });

export const CorrectRowsRequest = z.strictObject({
  source: z.string(),
  stream: z.string(),
  rows: z
    .array(
      z.strictObject({
        fields: Fields,
        place: z.strictObject({ file: z.string(), line: z.int(), path: z.string() }).partial(),
        version: z.int(),
      }),
    )
    .min(1),
});
export type CorrectRowsRequest = z.infer<typeof CorrectRowsRequest>;

/** Stores rows that a person has corrected, as a run of their source; nothing is concluded about other rows. */
export const correctRows: Operation<CorrectRowsRequest, CorrectionResult> = {
  name: 'correct-rows',
  kind: 'work',
  tag: 'attention',
  role: 'editor',
  summary:
    'Stores corrected rows of a stream. The next export of the stream can replace them. An editor names the cause that the rows belong to; an operator may correct every row.',
  request: CorrectRowsRequest,
  result: worked(),
  // The rows may have columns that are never stored, so the audit log has only their number.
  detail: ({ source, stream, rows }) => ({ source, stream, rows: rows.length }),
  async run({ source, stream, rows }, { runtime, abort, who }) {
    const result = await runtime.correct({ source, stream, rows: rows.map(withPlace), askedBy: who }, abort);
    goOn(runtime);
    return result;
  },
};

type Row = CorrectRowsRequest['rows'][number];

/** The places without the members that are undefined. */
function withPlace({ place: { file, line, path }, ...row }: Row) {
  return {
    ...row,
    place: {
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
      ...(path === undefined ? {} : { path }),
    },
  };
}
