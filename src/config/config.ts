import { z } from 'zod';
import { ITEM_KINDS } from '../domain/item.ts';
import { WEB_ROLES } from '../domain/web-role.ts';
import { isPasswordHash } from '../lib/password-hash.ts';
import { AlertsSection } from './alerts-section.ts';
import {
  BaseUrl,
  Decimal,
  Expression,
  HostName,
  LedgerPath,
  Period,
  PublicUrl,
  QueueSetting,
  Schedule,
  Secret,
  Share,
  Size,
  Slug,
  StreamName,
  TimeOfDay,
  TimeZone,
  UnitCode,
  WEEKDAYS,
} from './fields.ts';
import { ObserveSection } from './observe-section.ts';

const column = z.string().min(1, 'a column name');

/** Columns that identify a record; a part of every stream, whatever its connector. */
export const StreamKey = z
  .array(column)
  .min(1, 'at least one column name')
  .describe('Columns that together identify a record. Without them a record is identified by its content.');

const Target = z
  .strictObject({
    baseUrl: BaseUrl.describe("The API's address: https, except towards this machine itself."),
    apiKey: Secret.describe('The API key. Read again from its file or variable when the API says 401.'),
    publishKey: z
      .union([Secret, z.literal('')], { error: 'printable ASCII characters without spaces, or nothing' })
      .optional()
      .describe('A key of its own for publishing, where the other one lacks the scope. Empty means none.'),
    profile: z
      .string()
      .min(1, 'the name of a profile or the path of a profile file')
      .default('default')
      .describe('What to assume where the API document is silent: a name in `config/profiles`, or a path.'),
    maxRate: z
      .number()
      .positive('a number above 0')
      .max(100_000)
      .optional()
      .describe('The most requests per second. Without it the limit is learnt from the API alone.'),
    firstContact: z
      .enum(['list', 'assume-empty'])
      .default('list')
      .describe(
        'How a source finds out what the platform has of it before it creates anything there: by reading the lists of products, materials and publications; or not at all, where the platform holds nothing of it.',
      ),
    bom: z
      .enum(['ask', 'create', 'assume-present'])
      .default('ask')
      .describe(
        'What becomes of the BOM items of a product that was at the platform before, since the API cannot be asked for them: a person answers with `settle --bom`; they are created; or those of the first complete read of their source are taken to be there, and later ones are created.',
      ),
  })
  .describe('The DPP platform.');

const WebUser = z.strictObject({
  name: z
    .string()
    .max(64, 'at most 64 characters')
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]*$/, 'a name of letters, digits, dots, dashes, underscores and @')
    .refine((name) => name !== 'token', 'another name: `token` stands for the token')
    .describe('What the person logs in with. Pages and the audit log show it.'),
  password: Secret.refine(isPasswordHash, 'a hash as `dpp-sync password` prints it').describe(
    'The hash of the password, as `dpp-sync password` prints it.',
  ),
  role: z
    .enum(WEB_ROLES)
    .describe(
      'A viewer looks. An editor also writes notes and lookup values, uploads files and replays records. An operator does everything.',
    ),
});

const Web = z
  .strictObject({
    host: z
      .string()
      .regex(/^[^\s/]+$/, 'a host name or address')
      .default('127.0.0.1')
      .describe('The address to listen on.'),
    port: z.int().min(0).max(65_535).default(4280).describe('The port to listen on; 0 takes any free one.'),
    allowedHosts: z
      .array(HostName)
      .default([])
      .describe(
        'Names and addresses under which people reach it, without a port, besides `host` and the loopback names. Needed where `host` is no loopback address. A request that names any other host is refused, so that no web page can use it by a name of its own.',
      ),
    token: Secret.min(16, 'at least 16 characters')
      .optional()
      .describe(
        'What scripts send and people can log in with: at least 16 characters. It counts as an operator. Needed unless there are `users`.',
      ),
    users: z
      .array(WebUser)
      .max(500, 'at most 500 users')
      .default([])
      .describe('People who log in with a name and a password of their own, and may do what their role allows.'),
  })
  .describe('The dashboard and admin API. Without this section there is none.');

const Refs = z
  .strictObject({
    product: Expression.optional().describe('The key of the product that the BOM item belongs to.'),
    material: Expression.optional().describe('The key of the material that it consists of.'),
    component: Expression.optional().describe('The key of the product that it consists of.'),
    part: Expression.optional().describe(
      'The key of the material or the product that it consists of, whichever has this key. It waits until one of them is there; if both are, the row is quarantined.',
    ),
  })
  .describe(
    'For BOM items: the product, and what it consists of. Of material, component and part each row must yield exactly one.',
  );

const Rule = z
  .strictObject({
    min: Decimal.optional().describe('The least number.'),
    max: Decimal.optional().describe('The greatest number.'),
    pattern: z
      .string()
      .min(1, 'a pattern')
      .max(500, 'at most 500 characters')
      .optional()
      .describe('A pattern that the text has, in the syntax of `matches`; with `^` and `$` for the text as a whole.'),
    required: z.boolean().default(false).describe('Whether a row without a value is an issue.'),
    empty: z
      .array(z.string())
      .max(100)
      .default([])
      .describe('Texts that count as no value, such as `n/a`. Blank text and null always do.'),
  })
  .describe('Rules for the value of one field.');

export const Mapping = z
  .strictObject({
    stream: StreamName.default('default').describe('The stream whose records are mapped.'),
    to: z.enum(ITEM_KINDS).optional().describe('What the records become. Required without a module.'),
    each: Expression.optional().describe(
      'A list. The mapping makes one item of each entry; the other expressions then also know `item`, the entry, and `index`, its number from 0.',
    ),
    key: Expression.optional().describe('The key by which other streams refer to the item. Required without a module.'),
    when: Expression.optional().describe('Whether a record is wanted; the others are excluded.'),
    refs: Refs.optional(),
    fields: z
      .record(z.string(), Expression)
      .optional()
      .describe('An expression for each canonical field, or extra field of the profile. Required without a module.'),
    rules: z
      .record(z.string().min(1, 'the name of a field'), Rule)
      .optional()
      .describe('Rules by field, for expressions and modules alike. A member of a field is named `mass.value`.'),
    onIssue: z
      .enum(['hold', 'report'])
      .default('hold')
      .describe(
        'What an issue of this mapping does. `hold`: none of the items of the row are used, and the passports of its products wait. `report`: the issue is shown in quarantine, the other items of the row are used, and no passport waits.',
      ),
    module: z
      .string()
      .min(1, 'the path of a mapping module')
      .optional()
      .describe(
        'A TypeScript or JavaScript module that maps the records, in place of `to`, `each`, `key`, `refs` and `fields`.',
      ),
  })
  .describe('How records of one stream become items: by expressions, or by a module.');

const Columns = z
  .union([column.transform((name) => [name]), z.array(column).min(1, 'at least one column name')])
  .meta({ title: 'column or list of columns' });

const Lookup = z
  .strictObject({
    stream: StreamName.optional().describe('The stream whose records are the rows. Either this or `file`.'),
    source: Slug.optional().describe('The source of the stream. Without it the same source.'),
    file: z
      .string()
      .min(1, 'the path of a file')
      .optional()
      .describe('A CSV file with a header, or a JSON file with a list of objects.'),
    key: Columns.describe('The column that is looked up, or several.'),
    value: z
      .union([column, z.array(column).min(1, 'at least one column name')])
      .meta({ title: 'column or list of columns' })
      .describe('The column whose value is given, or several: then an object with these members is.'),
  })
  .describe('A table that mappings look values up in with `lookup("NAME", key)` or `lookup_all("NAME", key)`.');

const Guard = z
  .strictObject({
    maxMissing: Share.prefault('5%').describe(
      'The most known records that may be missing from a complete read, and the most items of a kind that the records may no longer make.',
    ),
    maxDrop: Share.prefault('20%').describe(
      'The most by which the number of records may fall from one read to the next.',
    ),
  })
  .describe('A read beyond these limits is taken for a broken export: nothing is concluded from what it lacks.');

const Pause = z
  .strictObject({
    from: TimeOfDay.describe('When it begins, as `22:00`, by the clocks of the time zone.'),
    to: TimeOfDay.describe(
      'When it ends. A time before `from` is one of the next day; the same time makes it last a whole day.',
    ),
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1, 'at least one day')
      .optional()
      .describe('The days on which it begins, as `[mon, tue]`. Without them every day.'),
    timezone: TimeZone.optional().describe('Its IANA time zone. Without it that of the source.'),
  })
  .describe('A time of the day in which no run begins by itself. A run that is due begins when it ends.');

const Backups = z
  .strictObject({
    schedule: Schedule.prefault('0 3 * * *').describe('When a backup is made, as a cron expression.'),
    timezone: TimeZone.default('UTC').describe('The IANA time zone of the schedule.'),
    folder: z
      .string()
      .min(1, 'the path of a folder')
      .describe('Where the backups are written, best on another disk. It is created where it is missing.'),
    keep: z
      .int()
      .min(1)
      .max(10_000)
      .default(14)
      .describe('How many backups are kept. The oldest is removed once a newer one is verified.'),
  })
  .describe('Backups that the daemon makes of its ledger. Without this section there are none.');

const History = z
  .strictObject({
    keepDays: z
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe(
        'How many days runs and the events of items are kept. The last runs of each source always stay. Without it their number alone is limited.',
      ),
    maxBytes: Size.optional().describe(
      'The size of what the ledger holds, as `2 GB`, beyond which the oldest events of items are removed. Items and records are never removed for it, so a ledger can be larger.',
    ),
  })
  .describe('How much history the ledger keeps.');

const Source = z
  .strictObject({
    id: Slug.describe('A name of your choosing; it stays with the records for good.'),
    connector: z.string().min(1, 'the name of a connector').describe('What reads the source.'),
    schedule: Schedule.optional().describe('When to pull, as a cron expression. Without it only on demand.'),
    timezone: TimeZone.default('UTC').describe('The IANA time zone of the schedule.'),
    watch: z
      .boolean()
      .default(false)
      .describe(
        'Whether a run also begins when a file of the source appears or changes, and is complete (`done`, `stableMs`). For sources of files, except those of a web server.',
      ),
    pause: z
      .array(Pause)
      .max(50)
      .default([])
      .describe('Times of the day in which no run of the source begins by itself.'),
    options: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("The connector's own options. A single stream may stand here too: its name is `default` then."),
    streams: z
      .record(StreamName, z.looseObject({ key: StreamKey.optional() }))
      .optional()
      .describe("The source's series of records by name, each with the connector's stream options."),
    omit: z
      .array(column)
      .default([])
      .describe(
        'Columns that are never stored. Of a row that could not be told apart into columns only the key is kept then.',
      ),
    lookups: z
      .record(StreamName, Lookup)
      .default({})
      .describe('Lookup tables by name: over records of this or of another source, or over files.'),
    units: z
      .record(z.string().min(1, 'the name of a unit'), UnitCode)
      .default({})
      .describe(
        "The source's own names of units, with their codes of UNECE Rec 20 or 21, such as `Stk: C62`. They win over all that `unit()` knows.",
      ),
    mappings: z
      .array(Mapping)
      .default([])
      .describe('What the records become. A source without mappings is only looked up by others.'),
    onMissing: z
      .enum(['flag', 'ignore', 'unpublish'])
      .default('flag')
      .describe(
        'What becomes of an item whose record is missing from a complete read: shown, left alone, or its passport unpublished.',
      ),
    guard: Guard.prefault({}),
    snapshotEvery: Period.prefault('7d').describe(
      'How often a stream that gives changes is also read completely, as `12h` or `7d`: that finds what the changes have missed and what is gone.',
    ),
  })
  .describe('One configured system to read from.');

/** What the mappings of a source refer to. */
export const SourceParts = Source.pick({ id: true, lookups: true, units: true }).loose();

const Passports = z
  .strictObject({
    init: z
      .enum(['when-complete', 'manual'])
      .default('when-complete')
      .describe('Whether a passport is initialised as soon as its product is complete, or by hand.'),
    publish: z
      .enum(['manual', 'auto'])
      .default('manual')
      .describe('Whether an initialised passport is published by itself.'),
    publicUrl: PublicUrl.optional().describe(
      'Where everybody can see a published passport, as `https://passports.example.com/{sku}`. The dashboard links to it. `{sku}` stands for the SKU and `{id}` for the id of the product at the platform.',
    ),
  })
  .describe('What becomes of passports. Without this section nothing is initialised.');

/** The whole config file. Types, checks, JSON Schema and reference are all taken from this one tree. */
export const Config = z.strictObject({
  target: Target,
  queue: QueueSetting.prefault('embedded').describe(
    'Where the work is queued: `embedded`, `redis://…` or `rediss://…`.',
  ),
  queuePassword: z
    .union([Secret, z.literal('')], { error: 'printable ASCII characters without spaces, or nothing' })
    .optional()
    .describe(
      "Redis's password as it is, for a `queue` whose URL has none: in the URL it would have to be percent-encoded. Empty means none.",
    ),
  ledger: LedgerPath.default('./data/ledger.db').describe('The file of the ledger. One process writes it.'),
  web: Web.optional(),
  sources: z.array(Source).min(1, 'at least one source').describe('The systems to read from.'),
  passports: Passports.optional(),
  alerts: AlertsSection.prefault({}),
  observe: ObserveSection.prefault({}),
  backups: Backups.optional(),
  history: History.prefault({}),
});
export type Config = z.infer<typeof Config>;
export type SourceConfig = z.infer<typeof Source>;
export type MappingConfig = z.infer<typeof Mapping>;
export type LookupsConfig = SourceConfig['lookups'];
