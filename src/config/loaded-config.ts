import type { Bounds } from '../domain/approval.ts';
import type { LookupConfig, MappingDefinition } from '../domain/mapping.ts';
import type { MappedFields, PassportRules } from '../domain/passport.ts';
import type { Profile } from '../domain/profile.ts';
import { withoutAbsent } from '../lib/collections.ts';
import { isJsonObject } from '../lib/json.ts';
import type { LoadedAlerts } from './alerts.ts';
import {
  type Config,
  type LookupsConfig,
  Mapping,
  type MappingConfig,
  type SourceConfig,
  SourceParts,
} from './config.ts';
import type { ConnectorSchemas, ConnectorSettings, KeyedStream, LoadedStream } from './connectors.ts';
import type { QueueSetting } from './fields.ts';
import type { SecretSource } from './interpolate.ts';
import type { ConfigProblem, PathSegment } from './problem.ts';
import { secretPathsIn, valueAt } from './schema/schema-walk.ts';
import type { WebRole } from './sections.ts';

/** A time of the day in which no run of a source is started automatically. */
export interface LoadedPause {
  /**
   * Minutes after midnight by the clocks of the time zone. If the end is before the beginning, the pause lasts past
   * midnight.
   */
  fromMinute: number;
  toMinute: number;
  /** An IANA time zone. */
  timezone: string;
  /** The days of the week on which the pause begins, 0 for Sunday; null for every day. */
  days: readonly number[] | null;
}

/** A source without its options, of which the ledger knows nothing. */
export interface LedgerSource {
  id: string;
  /** The connector as the config names it. */
  connectorName: string;
  schedule: string | null;
  timezone: string;
  /** Whether a run begins when an export appears or changes. */
  watch: boolean;
  pauses: LoadedPause[];
  omit: string[];
  mappings: MappingDefinition[];
  /** Lookup tables by name. */
  lookups: Record<string, LookupConfig>;
  /** The names of units that only this source uses, with their codes. */
  units: Record<string, string>;
  onMissing: SourceConfig['onMissing'];
  /** Fractions from 0 to 1. */
  guard: SourceConfig['guard'];
  /** What a run may do without a person; null without bounds. */
  approve: Bounds | null;
  /** How often streams that give changes are also read completely. */
  snapshotEveryMs: number;
  /** Its path in the config, such as `sources[0]`. */
  path: string;
  /** The line of a place in the source, such as `sources[0].mappings[1].key`; null if it is not known. */
  lineOf: (path: string) => number | null;
}

/** A source with the keys of its streams, for a command that loads no connector. */
export interface KeyedSource extends LedgerSource {
  streams: KeyedStream[];
}

/** A source with its connector, whose own schemas have checked the options. */
export interface LoadedSource<Connector> extends LedgerSource, ConnectorSettings<Connector> {
  /**
   * Reads the secrets of the options again, so that a new password is used without a restart.
   *
   * @throws Fault `config.invalid` when the file or variable of a secret is gone
   */
  readSettings(): Promise<FreshSettings>;
}

/** The address of the dashboard, and who may use it. */
export interface LoadedWeb {
  host: string;
  port: number;
  allowedHosts: readonly string[];
  trustedProxies: readonly string[];
  /** The header in which a trusted proxy names the person; null if no proxy does. */
  userHeader: string | null;
  /** Null if people can only log in as users. */
  token: SecretSource | null;
  users: readonly { name: string; role: WebRole; password: SecretSource | null }[];
}

/**
 * A config that was found free of problems, with its defaults filled in and its paths made absolute, for a command that only reads
 * the ledger and the queue.
 */
export interface LedgerConfig {
  /** The absolute path of the config file. */
  file: string;
  /** A hash of the content of the file and of its profile, without the values of placeholders. */
  digest: string;
  /**
   * The absolute paths of all files that were read for the config: the config itself, its profiles and the files of
   * placeholders.
   */
  files: readonly string[];
  /** The absolute paths of the programs that the config names: connectors of others, mapping modules, alert programs. */
  programs: readonly string[];
  /** The absolute path of the folder of the config file. Every path in the config is relative to it. */
  folder: string;
  target: {
    baseUrl: string;
    apiKey: SecretSource;
    /** A separate key for publishing, or null. */
    publishKey: SecretSource | null;
    /** Requests per second, or null. */
    maxRate: number | null;
    firstContact: Config['target']['firstContact'];
    bom: Config['target']['bom'];
  };
  profile: Profile;
  queue: QueueSetting;
  /** The absolute path of the ledger's file. */
  ledger: string;
  web: LoadedWeb | null;
  sources: KeyedSource[];
  passports: Config['passports'] | null;
  alerts: LoadedAlerts;
  observe: {
    /** Null if nothing is traced. */
    traces: { endpoint: string; headers: Record<string, SecretSource>; sampleRatio: number } | null;
  };
  /** The path of the folder is absolute. */
  backups: NonNullable<Config['backups']> | null;
  history: Config['history'];
  /** Settings that are allowed but are probably a mistake. */
  warnings: readonly ConfigProblem[];
  resolvePath(path: string): string;
  /** Removes all known secrets from a text that a connector has written (I7). */
  scrub(text: string): string;
  /** Like `scrub`, and nothing of a secret is kept, for texts that are given to others. */
  scrubWhole(text: string): string;
  /** True if a value, such as an address, has a known secret, so that it may not be stored (I7). */
  hasSecret(value: string): boolean;
}

/** The parts of a config that decide what a row becomes. */
export type MappingsConfig = Pick<LedgerConfig, 'file' | 'folder' | 'profile' | 'sources' | 'warnings'>;

/** A config whose connectors have checked the options of the sources as well. */
export interface LoadedConfig<Connector> extends LedgerConfig {
  sources: LoadedSource<Connector>[];
  /** The options of a source and of its streams. */
}

interface FreshSettings {
  options: unknown;
  streams: LoadedStream[];
}

/**
 * Returns a function that gives the settings of a source with every secret read again from its file or variable.
 *
 * @param source the source in the config, with its placeholders replaced
 * @param secretAt the secret at a path below the source
 */
export function createSettingsReader<Connector extends ConnectorSchemas>(
  source: unknown,
  { connector, options, streams }: ConnectorSettings<Connector>,
  secretAt: (path: readonly PathSegment[], text: string) => SecretSource,
): () => Promise<FreshSettings> {
  const isSingle = valueAt(source, ['streams']) === undefined;
  const secretsAt = (schema: ConnectorSchemas['options'], at: readonly PathSegment[]): Secret[] =>
    secretPathsIn(schema, valueAt(source, at)).flatMap((path) => {
      const text = valueAt(source, [...at, ...path]);
      return typeof text === 'string' ? [{ path, source: secretAt([...at, ...path], text) }] : [];
    });
  const own = secretsAt(connector.options, ['options']);
  const byStream = streams.map(({ name }) =>
    secretsAt(connector.streamOptions, isSingle ? ['options'] : ['streams', name]),
  );
  return async () => ({
    options: await withSecrets(options, own),
    streams: await Promise.all(
      streams.map(async (stream, at) => ({
        ...stream,
        options: await withSecrets(stream.options, byStream[at] ?? []),
      })),
    ),
  });
}

interface Secret {
  /** The path below the options to which the secret belongs. */
  path: PathSegment[];
  source: SecretSource;
}

async function withSecrets(options: unknown, secrets: readonly Secret[]): Promise<unknown> {
  let fresh = options;
  for (const { path, source } of secrets) {
    if (typeof valueAt(options, path) === 'string') fresh = withValue(fresh, path, await source.read());
  }
  return fresh;
}

/** A copy with another value at a path. */
function withValue(tree: unknown, [first, ...rest]: readonly PathSegment[], value: string): unknown {
  if (first === undefined) return value;
  if (Array.isArray(tree)) return tree.map((entry, at) => (at === first ? withValue(entry, rest, value) : entry));
  if (typeof tree !== 'object' || tree === null) return tree;
  return { ...tree, [first]: withValue(valueAt(tree, [first]), rest, value) };
}

/** @param path the path of the mapping in the config, such as `sources[0].mappings[1]` */
export function loadedMapping(
  mapping: MappingConfig,
  path: string,
  resolvePath: (path: string) => string,
): MappingDefinition {
  const { stream, to, each, key, when, refs, fields, rules, onIssue, module } = mapping;
  return withoutAbsent({
    stream,
    to,
    each,
    key,
    when,
    refs: refs && withoutAbsent(refs),
    fields,
    rules: rules && withoutAbsentIn(rules),
    onIssue: onIssue === 'hold' ? undefined : onIssue,
    module: module === undefined ? undefined : resolvePath(module),
    path,
  });
}

function withoutAbsentIn<Of extends object>(members: Record<string, Of>) {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, withoutAbsent(member)]));
}

/** The lookup tables of the config, in the form that mappings use. */
export function loadedLookups(lookups: LookupsConfig): Record<string, LookupConfig> {
  return withoutAbsentIn(lookups);
}

/** The mappings of a source that can be compiled. */
export interface ReadableMappings {
  source: string;
  definitions: MappingDefinition[];
  omit: string[];
  lookups: Record<string, LookupConfig>;
  units: Record<string, string>;
}

/** The mappings of each source that can be compiled, even if other parts of the config are wrong. */
export function readableMappings(value: unknown, resolvePath: (path: string) => string): ReadableMappings[] {
  return listIn(value, 'sources').map((source, index) => {
    const definitions = listIn(source, 'mappings').flatMap((mapping, at) => {
      const { success, data } = Mapping.safeParse(mapping);
      if (!success || !isComplete(data)) return [];
      return [loadedMapping(data, `sources[${index}].mappings[${at}]`, resolvePath)];
    });
    const parts = SourceParts.safeParse(source);
    const { id, omit, lookups, units } = parts.success ? parts.data : { id: '', omit: [], lookups: {}, units: {} };
    return { source: id, definitions, omit, lookups: loadedLookups(lookups), units };
  });
}

function isComplete({ module, to, key, fields }: MappingConfig): boolean {
  return module !== undefined || (to !== undefined && key !== undefined && fields !== undefined);
}

function listIn(value: unknown, name: string): unknown[] {
  const list = isJsonObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

/**
 * The rules of a config for passports. A module may make any items, so a source with a module counts as a source of BOM
 * items.
 */
export function passportRulesOf({ passports, sources }: Pick<LedgerConfig, 'passports' | 'sources'>): PassportRules {
  const sourcesThat = (wanted: (source: LedgerSource) => boolean) => sources.filter(wanted).map(({ id }) => id);
  return {
    isConfigured: (passports ?? null) !== null,
    init: passports?.init ?? 'manual',
    publish: passports?.publish ?? 'manual',
    sources: sources.map(({ id }) => id),
    partSources: sourcesThat(({ mappings }) => mappings.some(({ to }) => to !== 'product')),
    bomSources: sourcesThat(({ mappings }) => mappings.some(({ to }) => to === 'bom_item' || to === undefined)),
    withdrawMissingOf: sourcesThat(({ onMissing }) => onMissing === 'unpublish'),
    mappedFields: sources.flatMap(mappedFieldsOf),
  };
}

/**
 * The order in which these sources are read: sources of BOM items come last. A product that then has no BOM items will get none, so its
 * passport need not wait for another read.
 */
export function inReadingOrder(config: LedgerConfig, selected: readonly string[]): string[] {
  const { bomSources } = passportRulesOf(config);
  const isLast = (source: string) => bomSources.includes(source);
  return [...selected.filter((source) => !isLast(source)), ...selected.filter(isLast)];
}

function mappedFieldsOf({ id, mappings }: LedgerSource): MappedFields[] {
  return [...Map.groupBy(mappings, ({ stream }) => stream)].flatMap(([stream, all]) => {
    const ofProducts = all.filter(({ to }) => to === 'product');
    const [first] = ofProducts;
    if (first === undefined || all.some(({ module }) => module !== undefined)) return [];
    const fields = ofProducts.flatMap((mapping) => Object.keys(mapping.fields ?? {}));
    return [{ source: id, stream, path: first.path, fields }];
  });
}
