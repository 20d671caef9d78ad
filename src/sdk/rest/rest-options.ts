import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { Json } from '../../lib/json-schema.ts';
import { Auth } from './auth-options.ts';
import { Address, Path, RelativePath, Secrets, Text, Time } from './option-types.ts';
import { isTimeFormat } from './since.ts';

/** The members may be any JSON, in which texts may have placeholders. */
const Members: z.ZodType<JsonObject> = z.record(z.string(), Json);

/** The parts of a request that later parts add to, as `mergeParts` says. */
const REQUEST_PARTS = {
  query: Members.optional().describe(
    'Parameters of the address. A list or an object is written as JSON. `{{since}}` and others stand for values of the read.',
  ),
  body: Members.optional().describe(
    'Members of the JSON body. Those of `page` and `changes` are added to those of the stream: lists are joined, and `{ 6: … }` adds to the element 6 of a list, counted from 0.',
  ),
  headers: z.record(z.string(), z.string()).optional().describe('Headers of the request.'),
};

const REQUEST = {
  method: z.enum(['GET', 'POST']).optional().describe('The method of the request; POST for a request with a body.'),
  ...REQUEST_PARTS,
};

const Limits = z
  .strictObject({
    concurrent: z.int().min(1).max(32).default(4).describe('How many requests may run at once.'),
    perSecond: z
      .number()
      .positive()
      .max(1_000)
      .default(10)
      .describe('How many requests are sent in a second. After a 429 dpp-sync sends fewer, and slowly more again.'),
    attempts: z.int().min(1).max(20).default(5).describe('How often a request is tried if no usable answer comes.'),
    wait: Time.prefault('15m').describe('How long one request may wait in all because the server says 429.'),
    idleMs: z
      .int()
      .min(100)
      .max(3_600_000)
      .default(60_000)
      .describe('How long the server may be silent, in milliseconds.'),
    answerMs: z
      .int()
      .min(100)
      .max(86_400_000)
      .default(600_000)
      .describe('How long an answer may take as a whole, in milliseconds. The file of a bulk job may take longer.'),
    answerBytes: z
      .int()
      .min(1)
      .max(500_000_000)
      .default(64_000_000)
      .describe('The highest number of bytes of one answer.'),
    pages: z.int().min(1).default(1_000_000).describe('The highest number of pages of a read. More are an error.'),
  })
  .describe('The limits of requests.');
export type RestLimits = z.infer<typeof Limits>;

const Failure = z.strictObject({
  at: Path.describe('The path at which an answer with a good status says that the request has failed.'),
  again: z
    .strictObject({
      at: Path.describe('The path of the code.'),
      is: z.array(Text).min(1).describe('The codes that mean: later again.'),
    })
    .optional()
    .describe('Which of these failures only say that there were too many requests.'),
});
export type RestFailure = z.infer<typeof Failure>;

/** The source options of every REST connector. */
export const REST_SOURCE = {
  base: Address.describe('The address of the API. The paths of the streams are relative to it.'),
  auth: Auth.prefault({ by: 'none' }),
  headers: Secrets.default({}).describe('Headers of every request.'),
  limits: Limits.prefault({}),
  ca: Text.optional().describe('Certificates in PEM form that are trusted instead of the usual ones.'),
  failure: z
    .union([Failure, z.array(Failure).min(1)])
    .optional()
    .describe('Failures in answers with a good status, as in GraphQL and JSON-RPC: one place, or a list of places.'),
};

const SIZE = z.int().min(2).max(100_000);
const Size = SIZE.describe('How many rows a full page has. `{{size}}` stands for it.');
const FullPage = z
  .int()
  .min(2)
  .optional()
  .describe(
    'How many rows a full page has, if a full page always leads to another one. `{{size}}` stands for it, and a full page that leads nowhere is an error.',
  );
const Total = z
  .union([Path, z.strictObject({ header: Text.describe('The header that has the total.') })])
  .describe('Where an answer has the number of all rows. It is compared with what was read.');
const More = Path.describe('The path of a value that is true if there is another page.');

const Absent = z
  .array(z.union([z.literal(''), z.literal(false), z.literal(0)]))
  .default([])
  .describe(
    'Values with which the API says that there is no next page, such as `[""]`. `null` and an absent member always say so.',
  );

const CountsRows = z
  .boolean()
  .default(false)
  .describe(
    'True if the server finds the next page by a number of rows, or if its documentation does not say that it does not. Then a row that goes could hide another one, so each page is requested again after the next one.',
  );

const Page = z
  .discriminatedUnion('by', [
    z.strictObject({
      by: z.literal('none').describe('One answer has all rows.'),
      size: z
        .int()
        .min(1)
        .optional()
        .describe(
          'How many rows the server gives at most. An answer with so many rows is an error: it may be cut off.',
        ),
      total: Total.optional(),
    }),
    z.strictObject({
      by: z.literal('nextLink').describe('An answer has the address of the next page. The last page has none.'),
      next: Path.describe('The path of the address.'),
      absent: Absent,
      keep: z
        .array(Text)
        .default([])
        .describe('Parameters of the first address that the server leaves out of the next one.'),
      countsRows: CountsRows,
      size: FullPage,
      total: Total.optional(),
    }),
    z.strictObject({
      by: z.literal('header').describe('The header `Link` has the address of the next page, as `rel="next"`.'),
      countsRows: CountsRows,
      size: FullPage,
      total: Total.optional(),
    }),
    z
      .strictObject({
        by: z.literal('cursor').describe('An answer has a token for the next page: `{{cursor}}`.'),
        cursor: Path.describe('The path of the token.'),
        end: z
          .enum(['nullToken', 'flag'])
          .default('nullToken')
          .describe('`nullToken`: the last page has no token. `flag`: `more` is false on the last page.'),
        more: More.optional(),
        absent: Absent,
        countsRows: CountsRows,
        size: FullPage,
        ...REQUEST_PARTS,
        total: Total.optional(),
      })
      .refine(({ end, more }) => (end === 'flag') === (more !== undefined), {
        error: '`more` with `end: flag`',
        path: ['more'],
      }),
    z.strictObject({
      by: z.literal('keyset').describe('A page begins after the last row of the page before: `{{after}}`.'),
      after: Path.describe('The path of the value in a row. The request sorts by it, and no two rows have the same.'),
      size: Size,
      ...REQUEST_PARTS,
      total: Total.optional(),
    }),
    z
      .strictObject({
        by: z
          .literal('offset')
          .describe('A page begins at a number of rows: `{{offset}}`. The request needs a stable order.'),
        size: Size,
        end: z
          .enum(['shortRawPage', 'flag', 'total'])
          .default('shortRawPage')
          .describe('What shows the last page: fewer rows than `size`, `more`, or the `total`.'),
        more: More.optional(),
        total: Total.optional(),
      })
      .refine(hasItsEnd, { error: '`more` with `end: flag`, and `total` with `end: total`', path: ['end'] }),
    z
      .strictObject({
        by: z.literal('page').describe('Pages have numbers: `{{page}}`. The request needs a stable order.'),
        size: SIZE.describe(
          'How many rows a full page has. `{{size}}` stands for it, and then pages of other sizes are requested too, so that each page has the last row of the page before. Without `{{size}}` in the request each page is requested twice.',
        ),
        first: z.int().min(0).max(1).default(1).describe('The number of the first page.'),
        end: z
          .enum(['shortRawPage', 'flag', 'total'])
          .default('shortRawPage')
          .describe('What shows the last page: fewer rows than `size`, `more`, or the `total`.'),
        more: More.optional(),
        total: Total.optional(),
      })
      .refine(({ end, total }) => end === 'flag' || total !== undefined, {
        error: '`total`, because a page that is not full may be cut off, or `end: flag` with `more`',
        path: ['total'],
      })
      .refine(hasItsEnd, { error: '`more` with `end: flag`, and `total` with `end: total`', path: ['end'] }),
    z.strictObject({
      by: z
        .literal('graphql')
        .describe(
          'A connection of GraphQL: `pageInfo` has `hasNextPage` and `endCursor`, which goes into the variable `after`.',
        ),
      connection: Path.describe('The path of the connection, such as `$.data.products`.'),
      variable: Text.default('after').describe('The variable of the query that takes the cursor.'),
      total: Total.optional(),
    }),
    z.strictObject({
      by: z
        .literal('bulkJob')
        .describe('The request starts a job, whose result is a file with a JSON object on each line.'),
      status: z
        .strictObject({ get: RelativePath.describe('The path; `{{job}}` is the id of the job.'), ...REQUEST })
        .describe('The request that asks how the job stands.'),
      job: Path.describe('The path of the id of the job, in the answer to the start.'),
      state: Path.describe('The path of the state, in the answer about the job.'),
      done: z.array(Text).min(1).describe('The states of a job that is complete.'),
      running: z.array(Text).min(1).describe('The states of a job that goes on. Every other state is a failure.'),
      reason: Path.optional().describe('The path of the reason, in the answer about a job that has failed.'),
      result: Path.describe('The path of the address of the result. A complete job without an address has no rows.'),
      count: Path.optional().describe(
        'The path of the number of lines of the result, with which the file is compared.',
      ),
      parent: Text.optional().describe(
        'The member by which a line names its parent, such as `__parentId`. Without `children` such lines are left out.',
      ),
      children: z.boolean().default(false).describe('True for a stream of the lines that have a parent.'),
      poll: Time.prefault('5s').describe('How long dpp-sync waits before it asks again.'),
      wait: Time.prefault('6h').describe('How long a job may take.'),
    }),
  ])
  .describe('How further pages are requested, and what proves that a page is the last one.');
export type RestPage = z.infer<typeof Page>;

function hasItsEnd({ end, more, total }: { end: string; more?: unknown; total?: unknown }): boolean {
  return (end === 'flag') === (more !== undefined) && (end !== 'total' || total !== undefined);
}

const Gone = z
  .strictObject({
    at: Path.describe(
      'A path that only a row has whose record is gone, such as `$["@removed"]`. An empty text, `false` and `0`, also as texts, count as absent.',
    ),
    contains: Text.optional().describe('A part of the text at `at`, such as `$deletedEntity`.'),
    key: z.record(z.string(), Path).describe('The key columns of such a row, each with the path of its value.'),
    entityId: z
      .boolean()
      .default(false)
      .describe("True if the value is the address of an entity, such as `Items(5)` or `Items('A')`. Its key is taken."),
  })
  .describe('How a changed row says that its record is gone (a tombstone).');

const Changes = z.union([
  z.strictObject({
    by: Path.describe(
      'The path of the time of the last change in a row. It shows whether the server obeys `{{since}}`.',
    ),
    olderRows: z
      .boolean()
      .default(false)
      .describe(
        'True if the server also gives rows with an older time, such as the variants of a changed model. Then `by` shows nothing about `{{since}}`.',
      ),
    ...REQUEST_PARTS,
    zone: z
      .string()
      .refine(isTimeZone, { error: 'the name of a time zone, such as Europe/Berlin or UTC' })
      .default('UTC')
      .describe('The time zone in which the server understands `{{since}}`.'),
    format: z
      .string()
      .refine(isTimeFormat, { error: '`epoch`, `epoch-ms`, or a pattern with YYYY, MM, DD, hh, mm, ss, SSS and Z' })
      .default('YYYY-MM-DDThh:mm:ssZ')
      .describe(
        'The form of `{{since}}`: `epoch` or `epoch-ms`, or a pattern with YYYY, MM, DD, hh, mm, ss, SSS, and Z for the offset.',
      ),
    granularity: z
      .enum(['ms', 's', 'min', 'day'])
      .default('s')
      .describe('How exactly the server stores the times of changes. A read begins at the whole unit before.'),
    overlap: Time.prefault('10m').describe(
      'How far before the last read a read of changes begins, for changes that the server shows late.',
    ),
    blindTo: z.array(Text).default([]).describe('What the changes do not show, in words. `check` says it.'),
    gone: Gone.optional(),
    page: Page.optional().describe(
      'How further pages of changes are requested, if not as those of a complete read. The other parts of the request are the same, as far as `changes` does not replace them.',
    ),
  }),
  z.strictObject({
    deltaLink: Path.describe('The path of the address of later changes, on the last page of a read.'),
    blindTo: z.array(Text).default([]).describe('What the changes do not show, in words. `check` says it.'),
    gone: Gone.optional(),
  }),
]);

const Each = z
  .strictObject({
    get: RelativePath.describe('The path, with values of the row: `boms/{{row.id}}`.'),
    ...REQUEST,
    rows: Path.default([]).describe('The path of the rows in the answer.'),
    into: Text.optional().describe(
      'The member of the row that gets the answer at `rows`. Without it the rows of the answers are the rows of the stream.',
    ),
    size: z
      .int()
      .min(1)
      .optional()
      .describe(
        'How many rows the server gives at most in one answer. An answer with so many rows is an error: it may be cut off.',
      ),
    total: Total.optional(),
    parent: z
      .record(z.string(), Path)
      .default({})
      .describe('Columns of the rows of the answers that have values of the row for which they were requested.'),
  })
  .refine(({ into, parent }) => into === undefined || Object.keys(parent).length === 0, {
    error: 'either `into` or `parent`',
    path: ['parent'],
  });
export type RestEach = z.infer<typeof Each>;

/** The stream options of every REST connector. */
export const REST_STREAM = {
  get: RelativePath.refine((path) => !/[?#]/.test(path), {
    error: 'a path without `?` and `#`: parameters belong into `query`',
  }).describe('The path of the request, relative to `base`, without a query.'),
  ...REQUEST,
  rows: Path.default([]).describe(
    'The path of the list of rows in an answer. Without it the answer itself is the list.',
  ),
  page: Page,
  cap: z
    .int()
    .min(1)
    .optional()
    .describe(
      'The most rows that the server gives for one request with all its pages. So many rows are an error, because there may be more. If changes have a `page` of their own, the stream is then read completely. It does not hold for bulk jobs.',
    ),
  changes: Changes.optional().describe('How a read asks for changes only.'),
  reconcile: Time.optional().describe(
    'How often the stream is read completely, such as `7d`. It is required with `changes` without `gone`, because only a complete read shows which records are gone.',
  ),
  each: Each.optional().describe('A request for each row, such as for the parts of a bill of materials.'),
  onError: z
    .enum(['retry', 'restart', 'incomplete'])
    .default('retry')
    .describe(
      'What follows if a page does not come. `retry`: it is requested again. `restart`: the read begins again. `incomplete`: the read fails.',
    ),
};

const Source = z.strictObject(REST_SOURCE);
const Stream = z.strictObject(REST_STREAM);

/** The settings of a REST source, as its connector uses them. */
export type RestSource = z.infer<typeof Source>;
export type RestStream = z.infer<typeof Stream>;
/** The same as a person or a connector writes them. */
export type RestSourceInput = z.input<typeof Source>;
export type RestStreamInput = z.input<typeof Stream>;

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
}
