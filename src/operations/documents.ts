// The documents of operations. They are the views of the ledger as JSON; the schemas describe them for the OpenAPI document, and
// the tests check real answers against them.

import { z } from 'zod';
import { CAUSE_TYPES } from '../domain/advice.ts';
import { DELIVERY_STATES } from '../domain/delivery/delivery.ts';
import { ITEM_KINDS, SUBJECT_KINDS } from '../domain/item.ts';
import { PASSPORT_STATES, PASSPORT_STATUSES } from '../domain/passport.ts';
import { Json } from '../lib/json-schema.ts';

/** A time: milliseconds since the Unix epoch in the program, and a text in a document. */
export const Time = z.codec(
  z.string().meta({ format: 'date-time', description: 'ISO 8601 in UTC, with milliseconds.' }),
  z.number().int(),
  { decode: (text) => Date.parse(text), encode: (at) => new Date(at).toISOString() },
);

/**
 * Makes the document of an answer: its times become texts. Members that the schema does not describe stay as they are. It
 * does not check the answer, because the compiler and the tests do that, and a page may have 500 rows.
 */
export function documentOf(schema: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  // A schema with a description is another object than the one that it describes.
  if (schema instanceof z.ZodCodec) return z.encode(Time, value as number);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return documentOf(schema.unwrap(), value);
  if (schema instanceof z.ZodArray) return (value as unknown[]).map((entry) => documentOf(schema.element, entry));
  if (schema instanceof z.ZodUnion) {
    const fitting = schema.options.find((option) => z.safeEncode(option as z.ZodType, value).success);
    return fitting === undefined ? value : documentOf(fitting, value);
  }
  if (!(schema instanceof z.ZodObject)) return value;
  const shape: Record<string, z.core.$ZodType | undefined> = schema.shape;
  const members = Object.entries(value).map(([name, member]) => {
    const described = Object.hasOwn(shape, name) ? shape[name] : undefined;
    return [name, described === undefined ? member : documentOf(described, member)];
  });
  return Object.fromEntries(members);
}
const Fields = z.record(z.string(), Json);
const Kind = z.enum(SUBJECT_KINDS);
export const ItemState = z.enum(DELIVERY_STATES);
export const Count = z.number().int().nonnegative();

export const Place = z.strictObject({
  file: z.string().optional(),
  line: z.number().optional(),
  path: z.string().optional(),
});

const Issue = z.strictObject({
  code: z.string(),
  message: z.string(),
  field: z.string().optional(),
  value: Json.optional(),
  expression: z.string().optional(),
  lookup: z.string().optional(),
  cure: z.string().optional(),
  onlyField: z.literal(true).optional(),
  other: Place.optional(),
});

export const Reason = z.strictObject({
  code: z.string(),
  message: z.string(),
  status: z.number().int().optional(),
  fields: z.record(z.string(), z.string()).optional(),
  afterDoubt: z.literal(true).optional(),
  since: Time.optional(),
  lookAgain: z.literal(true).optional(),
  answeredId: Json.optional(),
  words: z.string().optional(),
  atRest: z.literal(true).optional(),
});

/** The id of a source, to choose among several. */
export const Source = z.string().optional().describe('The id of a source.');
/** The members of a request for one page of a list. */
export const page = {
  after: z.string().optional().describe('The `next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(500).default(100),
};

export function listOf<Row extends z.ZodType>(row: Row) {
  return z.strictObject({
    rows: z.array(row),
    next: z.string().nullable().describe('The value of `after` for the next page; null at the end of the list.'),
    total: z.strictObject({
      count: Count,
      atLeast: z.boolean().describe('True where counting was stopped, so that there may be more.'),
    }),
  });
}

const summary = {
  kind: Kind,
  key: z.string(),
  naturalKey: z.string().nullable(),
  name: z.string().nullable(),
  source: z.string().nullable(),
  state: ItemState,
  remoteId: Json,
  missing: z.boolean(),
  released: z.boolean(),
  reason: Reason.nullable(),
  dueAt: Time.nullable(),
  id: z.number().int(),
  since: Time.nullable(),
};

export const ItemRow = z.strictObject({
  ...summary,
  missingFirst: z
    .string()
    .nullable()
    .optional()
    .describe('Why the product is not complete, in the list of the state `incomplete`: the first cause.'),
});

const Ref = z.strictObject({
  role: z.string(),
  kind: z.enum(ITEM_KINDS),
  key: z.string(),
  state: ItemState.nullable(),
  either: z.literal(true).optional(),
});

const Advice = z.strictObject({
  title: z.string(),
  meaning: z.string().nullable(),
  cure: z.string(),
  command: z.string().nullable(),
});

const BomNode = z.strictObject({
  bomItem: z
    .strictObject({
      key: z.string(),
      state: ItemState,
      quantity: z.string().nullable(),
      unit: z.string().nullable(),
    })
    .nullable(),
  kind: z.enum(ITEM_KINDS),
  key: z.string(),
  naturalKey: z.string().nullable(),
  name: z.string().nullable(),
  state: ItemState.nullable(),
  get children() {
    return z.array(BomNode);
  },
  cut: Count,
  cycle: z.boolean(),
});

export const ItemDetail = z.strictObject({
  ...summary,
  missingAccepted: z.boolean(),
  missingDecided: z.boolean(),
  neverArrived: z.boolean(),
  missingBecause: z.enum(['row_gone', 'row_changed']).nullable(),
  desired: Fields,
  baseline: Fields.nullable(),
  inOtherForm: z.array(z.string()),
  refs: z.array(Ref),
  record: z
    .strictObject({
      source: z.string(),
      stream: z.string(),
      place: Place,
      fields: Fields,
      quarantined: z.array(Issue).nullable(),
    })
    .nullable(),
  revision: Count,
  attempts: Count,
  timeline: z.array(
    z.strictObject({
      at: Time,
      what: z.string(),
      operation: z.string().nullable(),
      revision: z.number().nullable(),
      detail: z.string().nullable(),
    }),
  ),
  usedBy: z.strictObject({
    rows: z.array(Ref.extend({ naturalKey: z.string().nullable(), name: z.string().nullable() })),
    count: Count,
  }),
  bom: BomNode.nullable(),
  heldBy: Reason.nullable(),
  advice: Advice,
});

const Passport = z.strictObject({
  state: z.enum(PASSPORT_STATES),
  acknowledged: z.enum(PASSPORT_STATUSES).nullable().describe('The last state that the platform has acknowledged.'),
  desired: z
    .strictObject({
      status: z.enum([...PASSPORT_STATUSES, 'none']),
      because: z.enum(['policy', 'person', 'missing']),
      restore: z.literal(true).optional(),
      found: z.literal(true).optional(),
    })
    .nullable(),
  reason: Reason.nullable(),
  holds: z.array(z.string()).describe('Why the passport cannot be initialised or published yet.'),
});

export const ShownItem = z.strictObject({
  item: ItemDetail,
  passport: Passport.nullable().optional().describe('The passport of a product.'),
});

export const Why = z.strictObject({
  key: z.string(),
  naturalKey: z.string().nullable(),
  name: z.string().nullable(),
  answer: z.string(),
  published: z.boolean(),
  steps: z.array(
    z.strictObject({
      standing: z.enum(['ok', 'stop', 'waits', 'unknown']),
      text: z.string(),
      command: z.string().nullable(),
      item: z.strictObject({ kind: Kind, key: z.string() }).nullable(),
      record: z.number().int().nullable(),
      advice: Advice.nullable(),
      cause: z.string().nullable().describe('The id of the cause of an item that no row gives.'),
    }),
  ),
});

export const Cause = z.strictObject({
  id: z.string(),
  type: z.enum(CAUSE_TYPES),
  source: z.string().nullable(),
  stream: z.string().nullable(),
  ...Advice.shape,
  code: z.string(),
  field: z.string().nullable(),
  count: Count,
  passportsHeld: Count.nullable(),
  firstSeenAt: Time.nullable(),
  lastSeenAt: Time.nullable().describe('When the last member came into the cause.'),
  note: z.strictObject({ text: z.string(), owner: z.string(), by: z.string(), at: Time }).nullable(),
  example: z.string().nullable(),
  values: z
    .array(z.strictObject({ value: z.string(), count: Count }))
    .describe('The values at fault, the most frequent first, as far as they are counted.'),
  otherValues: Count.describe('How many values are not in `values`.'),
});

const StreamAccount = z.strictObject({
  source: z.string(),
  stream: z.string(),
  read: Count,
  unchanged: Count,
  changed: Count,
  quarantined: Count,
  excluded: Count,
  missing: Count,
  guarded: z.string().nullable(),
  missedByChanges: Count.nullable(),
  warnings: z.array(z.string()).describe('What people should know about the read, in full sentences.'),
});

export const RunRow = z.strictObject({
  id: z.number().int(),
  source: z.string(),
  trigger: z.string(),
  startedAt: Time,
  endedAt: Time.nullable(),
  result: z.string().nullable().describe('`complete`, `failed`, `held` or `interrupted`; null while it runs.'),
  error: z.string().nullable(),
  streams: z.array(StreamAccount),
  askedBy: z.string().nullable(),
});

export const QuarantinedRow = z.strictObject({
  id: z.number().int(),
  source: z.string(),
  stream: z.string(),
  key: z.string(),
  place: Place,
  fields: Fields,
  issues: z.array(Issue),
});

export const CauseMember = z.strictObject({
  record: QuarantinedRow.nullable(),
  item: z
    .strictObject({
      kind: Kind,
      key: z.string(),
      naturalKey: z.string().nullable(),
      name: z.string().nullable(),
      revision: z.number().int(),
      state: ItemState,
      since: Time.nullable().describe('When the item came into the cause.'),
      reason: Reason,
    })
    .nullable(),
  run: RunRow.omit({ askedBy: true }).extend({ askedBy: z.string().nullable().optional() }).nullable(),
});

export const PassportRow = z.strictObject({
  product: z.string(),
  naturalKey: z.string().nullable(),
  name: z.string().nullable(),
  source: z.string().nullable(),
  remoteId: Json.nullable().describe('The id of the product at the platform; null before it has one.'),
  state: z.enum(PASSPORT_STATES),
  holds: z.array(z.string()).describe('Why the passport waits, the first cause first. Empty if no cause is known.'),
  reason: Reason.nullable(),
  since: Time.nullable(),
});

export const PassportCounts = z.partialRecord(z.enum(PASSPORT_STATES), Count);

export const ActionRow = z.strictObject({
  id: z.number().int(),
  at: Time,
  who: z.string(),
  via: z.string(),
  action: z.string(),
  detail: Fields,
  outcome: z.string().nullable(),
});

const WithSince = z.looseObject({ since: Time.optional() });
const WithReason = z.looseObject({ reason: WithSince.nullable() });

/** The members of a sync's result that have times. */
const Synced = z
  .looseObject({
    guarded: z.array(WithSince),
    accepted: z.looseObject({ guarded: z.array(WithSince) }).nullable(),
    failedRuns: z.array(z.looseObject({ startedAt: Time, endedAt: Time.nullable() })),
    suspended: z.array(WithReason),
    refused: z.array(WithReason),
    attention: z.looseObject({
      stuck: z.array(WithReason),
      awaitingReadBack: z.looseObject({ nextLookAt: Time.nullable() }),
    }),
  })
  .partial();

/** The result of a sync. */
export function syncResult<Of>(): z.ZodType<Of> {
  return Synced as unknown as z.ZodType<Of>;
}

/** The result of other work. Only members with times are described. */
const Result = z.looseObject({
  synced: Synced.nullable().optional(),
  madeAt: Time.optional(),
  mutedUntil: Time.nullable().optional(),
});

/** The schema of the result of work other than a sync. Its type is that of the operation. */
export function worked<Of>(): z.ZodType<Of> {
  return Result as unknown as z.ZodType<Of>;
}

/** Work that a request has started and that continues after the answer. */
export const TaskDocument = z.strictObject({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  who: z.string(),
  startedAt: Time,
  endedAt: Time.nullable(),
  progress: z
    .looseObject({
      paused: Reason.nullable(),
      apiWait: z
        .strictObject({ since: Time, until: Time.nullable(), askAgainAt: Time, message: z.string() })
        .nullable(),
    })
    .nullable(),
  outcome: z
    .union([
      z.strictObject({ ok: z.literal(true), result: z.union([Synced.extend(Result.shape), z.unknown()]) }),
      z.strictObject({
        ok: z.literal(false),
        code: z.string(),
        message: z.string(),
        suggestion: z.string().nullable(),
      }),
    ])
    .nullable()
    .describe('Null while it runs.'),
});

// Many answers have these parts. The OpenAPI document has each of them once, under its name.
for (const [id, part] of Object.entries({ Place, Issue, Reason, BomNode, ItemDetail, Task: TaskDocument })) {
  z.globalRegistry.add(part, { id });
}
