import { z } from 'zod';

/**
 * How long the API or the queue may be out of reach before a handler ends, in milliseconds. The default is a minute.
 */
export const WaitMs = z
  .number()
  .nonnegative()
  .default(60_000)
  .describe('How long the API or the queue may be out of reach, in milliseconds.');
