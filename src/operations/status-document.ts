// The document of `status`.

import { z } from 'zod';
import { EFFECTS } from '../domain/approval.ts';
import { DELIVERY_STATES } from '../domain/delivery/delivery.ts';
import { OPERATIONS } from '../domain/delivery/operation.ts';
import { ITEM_KINDS, SUBJECT_KINDS } from '../domain/item.ts';
import { QUEUE_NAMES } from '../domain/ports/queues.ts';
import { Count, ItemState, PassportCounts, Place, Reason, RunRow, Time } from './documents.ts';

const Kind = z.enum(ITEM_KINDS);
const States = z.partialRecord(z.enum(DELIVERY_STATES), Count);
const ByKind = z.partialRecord(Kind, Count);

const Effects = z.strictObject({ creates: Count, changes: Count, publish: Count, unpublish: Count });

const Held = z.strictObject({
  source: z.string(),
  runId: z.number().int(),
  at: Time,
  excesses: z
    .array(z.strictObject({ source: z.string(), effect: z.enum(EFFECTS), count: Count, limit: Count }))
    .describe('The bounds that the run exceeds.'),
  effects: z.record(z.string(), Effects).describe('What the run would do, by the source to which it counts.'),
  writes: z.strictObject({ count: Count, digest: z.string() }),
});

const Guarded = z.strictObject({
  source: z.string(),
  stream: z.string(),
  runId: z.number().int(),
  since: Time,
  read: Count,
  missing: Count,
  released: Count,
  creates: Count,
  gone: z.array(z.string()).describe('The names of the first records or items that are gone, at most 100.'),
  message: z.string(),
  isLeft: z.boolean().describe('True if the config no longer has the stream.'),
  isOlder: z.boolean().describe('True if the export is older than the last one, so that none of its rows was stored.'),
});

const Import = z.strictObject({
  state: z.enum(['off', 'untried', 'proven', 'postponed', 'failed']).describe('`off`: the profile uses no imports.'),
  message: z.string().optional(),
  at: Time.optional(),
  until: Time.optional(),
  size: Count.optional().describe('How many products the largest import had that a list has confirmed.'),
  answersIds: z.boolean().optional(),
  isTaken: z.literal(true).optional(),
  failures: Count.optional(),
  overwrote: z
    .strictObject({ count: Count, names: z.array(z.string()).readonly(), isAtMost: z.literal(true).optional() })
    .optional(),
});

const Stuck = z.strictObject({
  id: z.number().int(),
  kind: z.enum(SUBJECT_KINDS),
  key: z.string(),
  revision: Count,
  naturalKey: z.string().nullable(),
  operation: z.enum(OPERATIONS),
  source: z.string().nullable(),
  state: ItemState,
  reason: Reason,
  count: Count,
});

const Duplicate = z.strictObject({
  kind: Kind,
  key: z.string(),
  source: z.string(),
  stream: z.string(),
  place: Place,
  first: Place,
});

const Reload = z.strictObject({
  at: Time,
  ok: z.boolean(),
  held: z
    .boolean()
    .optional()
    .describe('True if the config waits for a person, because it would change more than `approve` allows.'),
  errors: z.array(z.string()),
});
const BackupFile = z.strictObject({ file: z.string(), madeAt: Time, bytes: Count });

export const Stages = z.strictObject({
  due: Count.describe('Due in the ledger, and not taken up by the daemon.'),
  enqueued: Count,
  received: Count,
  admitted: Count,
  inFlight: Count,
  inFlightSince: Time.nullable().describe('Since when the first delivery is in flight; null if none is.'),
});

const LeftDocument = z.strictObject({
  soon: Count.describe('Writes that wait for nothing: `due`, `sending`, `following` and `requested` together.'),
  due: Count,
  sending: Count,
  following: Count.describe('Publications that follow once the passport is initialised.'),
  requested: Count.describe('Publications that were asked for and that the ledger does not have yet.'),
  waiting: Count.describe('Deliveries that wait for other items.'),
  incomplete: Count.describe('Passports that are wanted and wait for a complete product.'),
  unconfirmed: Count.describe('Deliveries that were sent and have no answer yet.'),
  seconds: z
    .number()
    .nullable()
    .describe(
      'In how many seconds the writes of `soon` and `unconfirmed` are done, at the present speed. Null without a daemon, and while nothing is sent: the API is away, a queue is paused.',
    ),
});

export const Status = z.strictObject({
  ledger: z.strictObject({
    file: z.string(),
    exists: z.boolean(),
    freeBytes: z.number().nullable(),
    health: z.string().nullable().describe('`ok`, `unwritable` or `lost`; null without a daemon.'),
  }),
  items: z.strictObject({ product: States, material: States, bom_item: States }),
  passports: PassportCounts,
  quarantined: Count,
  productsInQuarantine: Count.describe(
    'Products that only rows in quarantine would make, so that `passports` does not count them.',
  ),
  warnings: z.array(z.string()),
  guarded: z.array(Guarded).describe('Exports that the guard holds until a person accepts them: `sync` with `accept`.'),
  held: z
    .array(Held)
    .describe(
      'Runs that would do more than `approve` allows, until a person approves them (`sync` with `accept`) or refuses them.',
    ),
  missing: ByKind.describe('Items that are missing from their sources and about which nobody has decided.'),
  missingOutcomes: z.array(z.strictObject({ kind: Kind, outcome: z.string(), count: Count })),
  paddedKeys: z.array(z.strictObject({ kind: Kind, count: Count, example: z.string() })),
  formerSources: z
    .array(z.string())
    .describe(
      'Sources that the config no longer has, that were not ended by an empty export, and whose items are at the platform.',
    ),
  suspended: z
    .array(
      z.strictObject({
        kind: z.enum(['product', 'material']),
        creates: Count,
        listed: Count,
        reason: Reason.nullable(),
      }),
    )
    .describe('Kinds of which no item is created before the list of the platform was read.'),
  refused: z
    .array(z.strictObject({ operation: z.enum(OPERATIONS), count: Count, reason: Reason }))
    .describe('Due deliveries that are not sent because the API refuses them.'),
  causes: z
    .array(z.strictObject({ cause: z.string(), count: Count, command: z.string() }))
    .describe('Why the exit code of the command is 4.'),
  waitingFor: z.array(
    z.strictObject({
      kind: Kind,
      key: z.string(),
      state: ItemState.nullable(),
      count: Count,
      either: z.literal(true).optional(),
    }),
  ),
  duplicates: z.strictObject({ count: Count, whole: Count, examples: z.array(Duplicate) }),
  otherForms: z.array(z.strictObject({ kind: Kind, items: Count, fields: z.array(z.string()) })),
  adopted: z.array(
    z.strictObject({ source: z.string(), kind: Kind, items: Count, fields: z.record(z.string(), Count) }),
  ),
  unansweredParts: z.strictObject({ products: Count, bomItems: Count }),
  unproven: z.array(z.strictObject({ kind: z.enum(SUBJECT_KINDS), because: z.string(), count: Count })),
  apiWait: z
    .strictObject({ since: Time, until: Time.nullable(), askAgainAt: Time, message: z.string() })
    .nullable()
    .describe('The wait of more than a minute that the API has asked for.'),
  deferred: z
    .strictObject({ count: Count, since: Time, message: z.string() })
    .nullable()
    .describe('Due deliveries at whose last attempt the API was away.'),
  imports: z.strictObject({ creates: Import, changes: Import }),
  queue: z.strictObject({
    kind: z.enum(['embedded', 'redis']),
    counts: z
      .record(z.enum(QUEUE_NAMES), z.strictObject({ waiting: Count, active: Count, failed: Count }))
      .nullable()
      .describe('Null if they cannot be read: the queue is out of reach, or embedded without a daemon that answers.'),
    paused: z.array(z.enum(QUEUE_NAMES)),
    problem: z.string().nullable(),
    health: z.string().nullable().describe('`ok` or `unreachable`; null without a daemon.'),
  }),
  deliveries: Stages.nullable().describe('Null without a daemon.'),
  left: LeftDocument.describe('What is still to be sent, with what is not staged yet.'),
  reload: Reload.nullable().describe('The last reload of the config.'),
  backup: z
    .strictObject({ at: Time, ok: z.boolean(), error: z.string().nullable(), last: BackupFile.nullable() })
    .nullable(),
  sources: z.array(
    z.strictObject({
      source: z.string(),
      lastRun: RunRow.nullable(),
      completeAt: Time.nullable().describe('The end of the last complete run.'),
      nextRunAt: Time.nullable().describe('Null if no run begins automatically.'),
      due: z.boolean().describe('True if a scheduled run is due and has not begun.'),
      paused: z.boolean().describe('True while no run begins automatically because of `pause`.'),
      pausedUntil: Time.nullable().describe('The end of the pause; null without a pause, or if the pause has no end.'),
    }),
  ),
  failedRuns: z.array(z.strictObject({ source: z.string(), error: z.string() })),
  stuck: z.array(Stuck).describe('Deliveries that need a person: the newest one of each of the first causes.'),
  awaitingReadBack: z
    .strictObject({ count: Count, nextLookAt: Time.nullable() })
    .describe('Unconfirmed items that are looked up without a person.'),
  version: z.string().nullable().describe('The version of the daemon; null without a daemon.'),
  startedAt: Time.nullable(),
  status: z.string().nullable().describe('`ok`, `degraded`, `unhealthy` or `stopping`; null without a daemon.'),
  api: z.string().nullable(),
  running: z.array(z.string()).describe('The sources that are being read.'),
  requestsPerSecond: z
    .strictObject({
      now: z.number(),
      allowed: z.number().nullable().describe('The rate that the API allows, as far as dpp-sync knows it.'),
    })
    .nullable(),
  pausedQueues: z.array(z.enum(QUEUE_NAMES)).nullable().describe('Null while the queue is out of reach.'),
  lastReload: Reload.nullable().describe('The same as `reload`.'),
});
