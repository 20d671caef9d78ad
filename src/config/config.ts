import { z } from 'zod';
import { ITEM_KINDS } from '../domain/item.ts';
import { AlertsSection } from './alerts.ts';
import {
  BaseUrl,
  BoundField,
  Decimal,
  Expression,
  LedgerPath,
  Period,
  PublicUrl,
  QueueSetting,
  Schedule,
  Secret,
  Share,
  Slug,
  StreamName,
  TimeOfDay,
  TimeZone,
  UnitCode,
  WEEKDAYS,
} from './fields.ts';
import { BackupsSection, HistorySection, ObserveSection, WebSection } from './sections.ts';

const column = z.string().min(1, 'a column name');

/** Columns that identify a record; a setting of every stream, for all connectors. */
export const StreamKey = z
  .array(column)
  .min(1, 'at least one column name')
  .describe(
    'The columns that together identify a record. Without this key, the first mapping without `each` whose keys are unique identifies the record, and otherwise its whole content; `dpp-sync check` shows which.',
  );

const Target = z
  .strictObject({
    baseUrl: BaseUrl.describe(
      'The address of the API. It begins with `https://`; `http://` is accepted only for this machine.',
    ),
    apiKey: Secret.describe('The API key. When the API answers 401, the key is read again from its file or variable.'),
    publishKey: z
      .union([Secret, z.literal('')], { error: 'printable ASCII characters without spaces, or nothing' })
      .optional()
      .describe('Another API key for publishing, if `apiKey` lacks that scope. Empty means none.'),
    profile: z
      .string()
      .min(1, 'the name of a profile or the path of a profile file')
      .default('default')
      .describe(
        'What dpp-sync assumes where the API document is silent: the name of a profile in `config/profiles`, or the path of a file.',
      ),
    maxRate: z
      .number()
      .positive('a number above 0')
      .max(100_000)
      .optional()
      .describe(
        'The highest number of requests per second, those that read lists included. Without it, dpp-sync learns the limit from the answers of the API.',
      ),
    firstContact: z
      .enum(['list', 'assume-empty'])
      .default('list')
      .describe(
        'How dpp-sync finds out which items the platform already has before it creates the first one. `list`: it reads the lists of products, materials and publications. `assume-empty`: it reads nothing, because the platform has none of the items.',
      ),
    bom: z
      .enum(['ask', 'create', 'assume-present'])
      .default('ask')
      .describe(
        'What happens to the BOM items of a product that the platform already had. The API cannot list them. `ask`: a person answers with `settle --bom`. `create`: they are created. `assume-present`: the BOM items of the first complete read of their source count as present, and later ones are created.',
      ),
  })
  .describe('The DPP platform.');

const Refs = z
  .strictObject({
    product: Expression.optional().describe('The key of the product that the BOM item belongs to.'),
    material: Expression.optional().describe('The key of the material that the product contains.'),
    component: Expression.optional().describe('The key of the product that the product contains.'),
    part: Expression.optional().describe(
      'The key of the part, if it may be a material or a product. The BOM item waits until one of them exists. If both exist, the row is quarantined.',
    ),
  })
  .describe('For BOM items: the product and its part. Each row must give exactly one of material, component and part.');

const Rule = z
  .strictObject({
    min: Decimal.optional().describe('The least number.'),
    max: Decimal.optional().describe('The greatest number.'),
    pattern: z
      .string()
      .min(1, 'a pattern')
      .max(500, 'at most 500 characters')
      .optional()
      .describe(
        'A pattern that the text must contain, in the syntax of `matches`. With `^` and `$` the whole text must match.',
      ),
    required: z.boolean().default(false).describe('Whether a row without a value is an issue.'),
    empty: z
      .array(z.string())
      .max(100)
      .default([])
      .describe('Texts that count as no value, such as `n/a`. Blank text and null always count as no value.'),
  })
  .describe('Rules for the value of one field.');

export const Mapping = z
  .strictObject({
    stream: StreamName.default('default').describe('The stream whose records are mapped.'),
    to: z.enum(ITEM_KINDS).optional().describe('What the records become. Required without a module.'),
    each: Expression.optional().describe(
      'A list. The mapping makes one item from each entry of the list. In the other expressions of the mapping, `item` is the entry and `index` is its number, from 0.',
    ),
    key: Expression.optional().describe('The key by which other streams refer to the item. Required without a module.'),
    when: Expression.optional().describe('True for the records that are mapped. The others are excluded.'),
    refs: Refs.optional(),
    fields: z
      .record(z.string(), Expression)
      .optional()
      .describe('An expression for each canonical field, or extra field of the profile. Required without a module.'),
    rules: z
      .record(z.string().min(1, 'the name of a field'), Rule)
      .optional()
      .describe(
        'Rules by the name of the field, for expressions and for modules. A member of a field is named by its path, such as `mass.value`.',
      ),
    onIssue: z
      .enum(['hold', 'report'])
      .default('hold')
      .describe(
        'What happens when this mapping fails for a record. `hold`: none of the items of the record is used, and the passports of its products wait. `report`: the quarantine shows the issue, the other items of the record are used, and no passport waits.',
      ),
    module: z
      .string()
      .min(1, 'the path of a mapping module')
      .optional()
      .describe(
        'A TypeScript or JavaScript module that maps the records, in place of `to`, `each`, `key`, `refs` and `fields`.',
      ),
  })
  .describe('How records of one stream become items: by expressions or by a module.');

const Columns = z
  .union([column.transform((name) => [name]), z.array(column).min(1, 'at least one column name')])
  .meta({ title: 'column or list of columns' });

const Lookup = z
  .strictObject({
    stream: StreamName.optional().describe('The stream whose records are the rows. Either this or `file`.'),
    source: Slug.optional().describe('The source of the stream. By default it is the source of this mapping.'),
    file: z
      .string()
      .min(1, 'the path of a file')
      .optional()
      .describe('A CSV file with a header, or a JSON file with a list of objects.'),
    key: Columns.describe('The column, or the columns, by which an entry is found.'),
    value: z
      .union([column, z.array(column).min(1, 'at least one column name')])
      .meta({ title: 'column or list of columns' })
      .describe(
        'The column whose value the lookup gives. With several columns the lookup gives an object with these members.',
      ),
  })
  .describe('A table that mappings look values up in with `lookup("NAME", key)` or `lookup_all("NAME", key)`.');

const Guard = z
  .strictObject({
    maxMissing: Share.prefault('5%').describe(
      'The highest share of the records with items or lookup entries that may be missing from a complete read. The same limit applies to the items of one kind that the records made before and do not make any more.',
    ),
    maxMissingCount: z
      .int()
      .min(0)
      .default(500)
      .describe(
        'The highest number of such records, or of such items of one kind, that may be missing. A read is held if the share or the number is exceeded.',
      ),
    maxDrop: Share.prefault('20%').describe(
      'The highest share by which the number of rows may fall from one read to the next. The limit applies only if a record with items or lookup entries is missing.',
    ),
  })
  .describe(
    'If a read exceeds one of these limits, the export counts as broken, and no item becomes missing. If at least half of what a stream had is gone, nothing new of the stream is created either. Rows that are quarantined or excluded, or that repeat another row, do not count as missing.',
  );

const Approve = z
  .strictObject({
    creates: BoundField.optional().describe(
      'The highest number of new items, or their share of the items of the source.',
    ),
    changes: BoundField.optional().describe(
      'The highest number of changed items, or their share of the items of the source.',
    ),
    publish: BoundField.optional().describe(
      'The highest number of passports that are published, or their share of the products of the source.',
    ),
    unpublish: BoundField.optional().describe(
      'The highest number of passports that are withdrawn, or their share of the products of the source.',
    ),
  })
  .refine((bounds) => Object.values(bounds).some((bound) => bound !== undefined), {
    error: 'at least one of creates, changes, publish and unpublish',
  })
  .describe(
    'What a run may do without a person. A run that would do more is held before any of its rows is stored: its plan is kept, an alert is sent, and a person approves or refuses the run. A run of another source is held too if it would do more to the items and passports of this source, for example by a lookup table. Without `approve`, no run is held for what it does.',
  );

const Pause = z
  .strictObject({
    from: TimeOfDay.describe('When the pause begins, such as `22:00` in the time zone.'),
    to: TimeOfDay.describe(
      'When the pause ends. A time before `from` is on the next day. The same time as `from` makes a pause of a whole day.',
    ),
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1, 'at least one day')
      .optional()
      .describe('The days on which the pause begins, such as `[mon, tue]`. Without this key it begins every day.'),
    timezone: TimeZone.optional().describe(
      'The IANA time zone of the pause. Without this key, the time zone of the source applies.',
    ),
  })
  .describe(
    'A time of the day in which dpp-sync starts no run automatically. A run that becomes due in this time begins when the pause ends.',
  );

const Source = z
  .strictObject({
    id: Slug.describe('A name of your choice. The ledger keeps it with the records, so it cannot be changed later.'),
    connector: z
      .string()
      .min(1, 'the name of a connector')
      .describe('The connector: the id of a built-in one, the path of a file, or the name of a package.'),
    schedule: Schedule.optional().describe(
      'When the source is read, as a cron expression. If it has a day of the month and a day of the week, either of them is enough, as in cron. Without `schedule`, the source is read on demand only.',
    ),
    timezone: TimeZone.default('UTC').describe('The IANA time zone of the schedule.'),
    watch: z
      .boolean()
      .default(false)
      .describe(
        'Whether a run also begins when a file of the source appears or changes and is complete (`done`, `stableMs`). For connectors that read files, except from a web server.',
      ),
    pause: z
      .array(Pause)
      .max(50)
      .default([])
      .describe('Times of the day in which dpp-sync starts no run of the source automatically.'),
    options: z
      .record(z.string(), z.unknown())
      .default({})
      .describe(
        'The options of the connector. If the source has no `streams`, it has one stream with the name `default`, and the options of this stream stand here too.',
      ),
    streams: z
      .record(StreamName, z.looseObject({ key: StreamKey.optional() }))
      .optional()
      .describe('The streams of the source by name, each with the stream options of the connector.'),
    omit: z
      .array(column)
      .default([])
      .describe('Columns that are never stored. If a row cannot be split into columns, only its key is stored.'),
    lookups: z
      .record(StreamName, Lookup)
      .default({})
      .describe('Lookup tables by name. A table has the records of a stream, or the entries of a file.'),
    units: z
      .record(z.string().min(1, 'the name of a unit'), UnitCode)
      .default({})
      .describe(
        'The names of units in this source, with their codes of UNECE Rec 20 or 21, such as `Stk: C62`. `unit()` looks them up first.',
      ),
    mappings: z
      .array(Mapping)
      .default([])
      .describe('What items the records become. A source without mappings serves only as a lookup table.'),
    onMissing: z
      .enum(['flag', 'ignore', 'unpublish'])
      .default('flag')
      .describe(
        'What happens to an item whose record is missing from a complete read. `flag`: it is shown. `ignore`: nothing happens. `unpublish`: its passport is withdrawn, unless a row of the read cannot be recognised and may be that record.',
      ),
    guard: Guard.prefault({}),
    approve: Approve.optional(),
    snapshotEvery: Period.prefault('7d').describe(
      'How often a stream that gives changes is also read completely, such as `12h` or `7d`. A complete read finds records that the changes have missed, and records that are gone.',
    ),
  })
  .describe('One configured system to read from.');

/** The parts of a source to which its mappings refer. */
export const SourceParts = Source.pick({ id: true, omit: true, lookups: true, units: true }).loose();

const Passports = z
  .strictObject({
    init: z
      .enum(['when-complete', 'manual'])
      .default('when-complete')
      .describe('Whether a passport is initialised as soon as its product is complete, or by hand.'),
    publish: z
      .enum(['manual', 'auto'])
      .default('manual')
      .describe('Whether dpp-sync publishes an initialised passport automatically.'),
    publicUrl: PublicUrl.optional().describe(
      'The public address of a published passport, such as `https://passports.example.com/{sku}`. The dashboard links to it. `{sku}` is replaced by the SKU, and `{id}` by the id of the product at the platform.',
    ),
  })
  .describe('What happens to passports. Without this section dpp-sync initialises no passport automatically.');

/** The whole config file. Types, checks, JSON Schema and reference are all taken from this one tree. */
export const Config = z.strictObject({
  target: Target,
  queue: QueueSetting.prefault('embedded').describe('The queue: `embedded`, `redis://…` or `rediss://…`.'),
  queuePassword: z
    .union([Secret, z.literal('')], { error: 'printable ASCII characters without spaces, or nothing' })
    .optional()
    .describe(
      'The password of Redis, if the URL of `queue` has none. Here it is not percent-encoded. Empty means none.',
    ),
  ledger: LedgerPath.default('./data/ledger.db').describe(
    'The file of the ledger. One process at a time writes to it.',
  ),
  web: WebSection.optional(),
  sources: z.array(Source).min(1, 'at least one source').describe('The systems that dpp-sync reads.'),
  passports: Passports.optional(),
  alerts: AlertsSection.prefault({}),
  observe: ObserveSection.prefault({}),
  backups: BackupsSection.optional(),
  history: HistorySection.prefault({}),
});
export type Config = z.infer<typeof Config>;
export type SourceConfig = z.infer<typeof Source>;
export type MappingConfig = z.infer<typeof Mapping>;
export type LookupsConfig = SourceConfig['lookups'];
