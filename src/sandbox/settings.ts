import { z } from 'zod';
import { FaultRule } from './faults.ts';

const retryAfter = z
  .enum(['seconds', 'none'])
  .default('seconds')
  .describe('Whether a 429 carries Retry-After (whole seconds, rounded up) or leaves the client to guess.');

/** How many requests each key may make. */
export const RateLimit = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }).describe('No limit.'),
  z
    .strictObject({
      kind: z.literal('token-bucket'),
      ratePerSecond: z.number().positive().max(1e6).describe('Requests per second in the long run.'),
      burst: z.int().min(1).describe('Requests that may come at once after a rest.'),
      retryAfter,
    })
    .describe('An even rate with some slack.'),
  z
    .strictObject({
      kind: z.literal('fixed-window'),
      limit: z.int().min(1).describe('Requests per window.'),
      windowMs: z.int().min(1).describe('Length of the window in milliseconds.'),
      retryAfter,
    })
    .describe('A quota that is renewed at fixed times.'),
]);
export type RateLimit = z.infer<typeof RateLimit>;

/** Everything that the API document leaves open about a server, with the value assumed for it. */
export const SandboxSettings = z.strictObject({
  storage: z
    .string()
    .min(1)
    .default(':memory:')
    .describe('A file that keeps data and keys over a restart, or `:memory:`.'),
  ids: z
    .enum(['numeric', 'uuid'])
    .default('numeric')
    .describe(
      'The JSON type of every id. A reference must have the same type: "7" is not 7. Fixed once a file exists.',
    ),
  bodyBytesMax: z.int().min(1).default(1_048_576).describe('The largest request body; a larger one is answered 413.'),
  pageSize: z.int().min(1).default(100).describe('Results per page of a list when the request does not say.'),
  pageSizeMax: z.int().min(1).default(1000).describe('The largest page; a request for more gets this many.'),
  rateLimit: RateLimit.default({ kind: 'none' }).describe('The rate limit of each key.'),
  idempotency: z
    .enum(['honoured', 'publish-only', 'ignored'])
    .default('publish-only')
    .describe('Which operations obey Idempotency-Key: every write, only the publish request, or none.'),
  idempotencyRetentionMs: z
    .int()
    .min(1)
    .default(86_400_000)
    .describe('How long an answer can be replayed, in milliseconds.'),
  faults: z.array(FaultRule).default([]).describe('What goes wrong on purpose.'),
  eventsMax: z.int().min(0).max(1_000_000).default(1000).describe('How many of the last requests `inspect` shows.'),
});
export type SandboxSettings = z.infer<typeof SandboxSettings>;

/** What a caller gives: any of the settings, the others take their defaults. */
export type SandboxOptions = z.input<typeof SandboxSettings>;
