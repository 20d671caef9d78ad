/** Adds the time of the newest file of the last snapshot of a stream, in milliseconds since the epoch. Null if it is not known. */
export const TIMES_OF_STREAMS = `
  ALTER TABLE streams ADD COLUMN read_as_of INTEGER;
`;
