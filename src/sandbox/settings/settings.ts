import { z } from 'zod';
import { OPERATION_NAMES } from '../api/endpoints.ts';
import { FaultRule } from '../faults/faults.ts';
import { Duplicates } from '../items/fields.ts';
import { Gates } from '../items/passports.ts';
import { LIE_NAMES, LIES } from '../lies/lies.ts';

/** The behaviour of the bulk import, which the document does not define. */
export const ImportSettings = z
  .strictObject({
    upserts: z
      .boolean()
      .default(true)
      .describe('Whether a row with the SKU of an existing product updates this product. If not, the row fails.'),
    answer: z
      .enum(['per-row', 'summary', 'none', 'later'])
      .default('per-row')
      .describe(
        'What the answer has: the result of each row, only counts of results, only the status 202, or 202 with the id of a job.',
      ),
    storesAfterMs: z
      .int()
      .min(0)
      .max(86_400_000)
      .default(0)
      .describe(
        'How long after the answer the rows are stored, in milliseconds. Until then no list has the new products. This setting needs another `answer` than `per-row`.',
      ),
    rowsMax: z.int().min(1).max(100_000).default(1000).describe('The highest number of rows of one import.'),
    rowsMaxStatus: z
      .union([z.literal(400), z.literal(413), z.literal(422)])
      .default(400)
      .describe('The status that refuses an import with more rows.'),
    bytesMax: z
      .int()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'The highest number of bytes of the body of an import. The answer to a larger body is 413. With null only `bodyBytesMax` limits it.',
      ),
    bytesMaxAnswer: z
      .enum(['json', 'nginx'])
      .default('json')
      .describe(
        'The body of the answer 413 to a large import: JSON, as the application sends it, or the page of an nginx in front of the application.',
      ),
    badRow: z
      .enum(['fails-alone', 'refuses-all', 'refuses-all-named'])
      .default('fails-alone')
      .describe(
        'What happens if a row is bad: only this row fails; or the import is refused with 400, without naming the row; or the import is refused with a list of the errors of each row, in the order of the rows.',
      ),
    doublesNew: z
      .boolean()
      .default(false)
      .describe(
        'Whether every new product of an import is stored twice, under two ids. This setting needs storage in memory.',
      ),
    doublesExisting: z
      .boolean()
      .default(false)
      .describe(
        'Whether a row with the SKU of an existing product creates a second product, instead of updating the first. This setting needs storage in memory.',
      ),
  })
  .refine(({ answer, storesAfterMs }) => answer !== 'per-row' || storesAfterMs === 0, {
    path: ['storesAfterMs'],
    message:
      'found a delay with the answer per-row, expected 0 or another answer, because a per-row answer has the ids of stored rows',
  });
export type ImportSettings = z.infer<typeof ImportSettings>;
/** The settings of the import from a caller. A setting that is left out gets its default. */
export type ImportOptions = z.input<typeof ImportSettings>;

const HOW = {
  status: z
    .union([z.literal(429), z.literal(503)])
    .default(429)
    .describe('The status of a refusal. A 503 has the page of an nginx, as its limits answer by default.'),
  per: z.enum(['key', 'organization']).default('key').describe('Whose requests are counted together.'),
  retryAfter: z
    .enum(['seconds', 'date', 'wrong', 'none'])
    .default('seconds')
    .describe(
      'The value of Retry-After in a refusal: whole seconds, rounded up; an HTTP date; always 0; or no header.',
    ),
  headers: z
    .enum(['none', 'draft', 'legacy'])
    .default('none')
    .describe(
      'Which headers state the allowance: none, RateLimit and RateLimit-Policy (the IETF draft), or X-RateLimit-*.',
    ),
};

/** The longest window of a limit: a year. */
const WINDOW_MS_MAX = 366 * 86_400_000;

/** How many requests a caller may make. */
export const RateLimit = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }).describe('No limit.'),
  z
    .strictObject({
      kind: z.enum(['token-bucket', 'gcra']),
      ratePerSecond: z.number().min(1e-5).max(1e6).describe('Requests per second in the long run.'),
      burst: z
        .int()
        .min(1)
        .max(1_000_000)
        .describe('How many requests may come at once after a time without requests.'),
      ...HOW,
    })
    .describe('An even rate that allows bursts (a token bucket, also called generic cell rate algorithm).'),
  z
    .strictObject({
      kind: z.literal('fixed-window'),
      limit: z.int().min(1).describe('Requests per window.'),
      windowMs: z.int().min(1).max(WINDOW_MS_MAX).describe('Length of the window in milliseconds.'),
      ...HOW,
    })
    .describe('A quota that is renewed at fixed times.'),
  z
    .strictObject({
      kind: z.literal('sliding-window'),
      limit: z.int().min(1).max(100_000).describe('Requests in any period of `windowMs`.'),
      windowMs: z.int().min(1).max(WINDOW_MS_MAX).describe('The length of the period in milliseconds.'),
      ...HOW,
    })
    .describe('A quota over a sliding period.'),
]);
/** The settings of a limit from a caller. */
export type RateLimit = z.input<typeof RateLimit>;
/** A limit with all its defaults. */
export type RateLimitSettings = z.output<typeof RateLimit>;

/** What the answer to a write that succeeded has. */
const AnswerContent = z.enum(['full', 'id', 'empty', 'location']);
export type AnswerContent = z.infer<typeof AnswerContent>;

/** The lies of a sandbox. Each of them is told from the start to the end, or until they are replaced. */
export const Lies = z.array(z.enum(LIE_NAMES));
export type Lies = z.infer<typeof Lies>;

/** The details of a server that the API document leaves open, with an assumed value for each. */
export const SandboxSettings = z
  .strictObject({
    storage: z
      .string()
      .min(1)
      .default(':memory:')
      .describe('The file that keeps data and keys after a restart, or `:memory:`.'),
    ids: z
      .enum(['numeric', 'uuid', 'text'])
      .default('numeric')
      .describe(
        'The form of every id: a number, a UUID, or another text, such as `dpp_4711`. A reference must have the same type: "7" is not 7. The form cannot be changed once a file exists.',
      ),
    idAt: z
      .enum(['id', 'uuid', 'pk', 'data.id', 'url', '_links.self.href'])
      .default('id')
      .describe(
        'The place of the id in an answer. With `data.id`, the whole object of the answer is inside `data`. With `url` and `_links.self.href`, the id is only the last part of an address.',
      ),
    entries: z
      .enum(['flat', 'attributes'])
      .default('flat')
      .describe(
        'The form of an item in an answer or list: its fields beside the id, or `{"id", "type", "attributes"}` as in JSON:API. The rows of an import stay flat.',
      ),
    requests: z
      .enum(['flat', 'data.attributes'])
      .default('flat')
      .describe(
        'Where the body of a write has its fields: at the top, or in `attributes` of `data`. The rows of an import stay as they are.',
      ),
    answers: z
      .partialRecord(z.enum([...OPERATION_NAMES, '*']), AnswerContent)
      .default({})
      .describe(
        'What the answer to a write has, by operation, or for all others under `*`: everything (`full`), only the id (`id`), no body (`empty`), or no body and the header `Location` (`location`).',
      ),
    successCodes: z
      .enum(['created', 'ok', 'accepted'])
      .default('created')
      .describe(
        'The status of a success. `created`: 201 for a create and 200 for all others. `ok`: always 200. `accepted`: 202 for every write.',
      ),
    errors: z
      .enum(['drf', 'problem', 'message'])
      .default('drf')
      .describe(
        'The form of an error. `drf`: `{"detail"}`, or messages by field as Django REST Framework writes them. `problem`: RFC 9457. `message`: `{"message", "errors"}`.',
      ),
    bodyBytesMax: z.int().min(1).default(1_048_576).describe('The largest request body; a larger one is answered 413.'),
    pageSize: z
      .int()
      .min(1)
      .default(100)
      .describe('The number of entries on a page of a list if the request does not give it.'),
    pageSizeMax: z
      .int()
      .min(1)
      .default(1000)
      .describe('The highest number of entries on a page. A request for more gets this number.'),
    paging: z
      .enum([
        'page-number',
        'cursor',
        'link-header',
        'odata',
        'spring',
        'relay',
        'has-more',
        'page-header',
        'silent',
        'none',
      ])
      .default('page-number')
      .describe('How a client gets the next page of a list. [The sandbox](sandbox.md#lists) describes each value.'),
    envelope: z
      .enum(['results', 'data', 'items'])
      .default('results')
      .describe('The member that has the entries of a list, if the list is not a bare array.'),
    listFilters: z
      .boolean()
      .default(false)
      .describe('Whether `?sku=` and `?code=` filter a list. With `false` they are ignored.'),
    gates: Gates.prefault({}).describe('The conditions under which a passport can be published.'),
    duplicates: Duplicates.prefault({}).describe(
      'What happens when a client creates a product or material that exists already.',
    ),
    import: ImportSettings.prefault({}).describe('How the bulk import behaves.'),
    reportCreateScope: z
      .enum(['read', 'write'])
      .default('read')
      .describe(
        'The scope that is needed to create a report. The API document does not name it, but lists the operation under read.',
      ),
    publicBaseUrl: z
      .url()
      .max(500)
      .default('https://passport.example.com')
      .transform((url) => url.replace(/\/+$/, ''))
      .describe(
        'The address that answers give for the public pages of passports. The sandbox does not serve these pages.',
      ),
    rateLimit: RateLimit.default({ kind: 'none' }).describe('The rate limit of each key.'),
    idempotency: z
      .enum(['honoured', 'publish-only', 'ignored'])
      .default('publish-only')
      .describe('Which operations obey Idempotency-Key: every write, only the publish request, or none.'),
    idempotencyRetentionMs: z
      .int()
      .min(1)
      .default(86_400_000)
      .describe('For how long the sandbox repeats an answer to the same idempotency key, in milliseconds.'),
    idempotencyKeysMax: z
      .int()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'For how many of the last idempotency keys of an organisation the sandbox repeats its answer. Null means: for all keys that `idempotencyRetentionMs` keeps.',
      ),
    idempotencyReplays: z
      .enum(['answers', 'successes', 'everything'])
      .default('answers')
      .describe(
        'Which first answers the sandbox repeats. `answers`: successes and refusals, also the 409 of a gate. `successes`: only successes. `everything`: server errors too, with their headers and pages.',
      ),
    faults: z.array(FaultRule).default([]).describe('The faults that the sandbox causes on purpose.'),
    lies: Lies.default([]).describe(
      'What the sandbox answers although it is not so, as `OPERATION:LIE`. [The list](#lies) describes each lie.',
    ),
    eventsMax: z.int().min(0).max(1_000_000).default(1000).describe('How many of the last requests `inspect` shows.'),
  })
  .refine(({ duplicates, storage }) => !duplicates.taken || storage === ':memory:', {
    path: ['duplicates', 'taken'],
    message: 'found true with a storage file, expected only one of the two, because a file keeps keys unique',
  })
  .superRefine((settings, context) => {
    if (settings.storage === ':memory:') return;
    for (const name of ['doublesNew', 'doublesExisting'] as const) {
      if (!settings.import[name]) continue;
      const message = 'found true with a storage file, expected only one of the two, because a file keeps SKUs unique';
      context.addIssue({ code: 'custom', path: ['import', name], message });
    }
    for (const [index, name] of settings.lies.entries()) {
      if (!LIES[name].doubles) continue;
      const message = `found ${name} with a storage file, expected only one of the two, because a file keeps SKUs unique`;
      context.addIssue({ code: 'custom', path: ['lies', index], message });
    }
  });
export type SandboxSettings = z.infer<typeof SandboxSettings>;

/** The settings from a caller. Settings that are left out get their defaults. */
export type SandboxOptions = z.input<typeof SandboxSettings>;
