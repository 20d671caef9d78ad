/**
 * Adds what identifies the rows of a stream, as JSON. Null until a run stores it: the key columns, or the content of the rows
 * if there are none.
 */
export const IDENTITY_OF_STREAMS = `
  ALTER TABLE streams ADD COLUMN identity TEXT;
`;
