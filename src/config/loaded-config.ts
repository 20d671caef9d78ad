import type { LookupConfig, MappingDefinition } from '../domain/mapping.ts';
import type { Profile } from '../domain/profile.ts';
import type { WebRole } from '../domain/web-role.ts';
import type { LoadedStream } from './checks/check-connector.ts';
import type { Config, SourceConfig } from './config.ts';
import type { QueueSetting } from './fields.ts';
import type { FreshSettings } from './fresh-settings.ts';
import type { LoadedAlerts } from './load-alerts.ts';
import type { ConfigProblem } from './problem.ts';
import type { SecretSource } from './secret-source.ts';

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

/** A source with its connector, whose own schemas have checked the options. */
export interface LoadedSource<Connector> {
  id: string;
  connector: Connector;
  schedule: string | null;
  timezone: string;
  /** Whether a run begins when an export appears or changes. */
  watch: boolean;
  pauses: LoadedPause[];
  options: unknown;
  streams: LoadedStream[];
  /**
   * Reads the secrets of the options again, so that a new password is used without a restart.
   *
   * @throws Fault `config.invalid` when the file or variable of a secret is gone
   */
  readSettings(): Promise<FreshSettings>;
  omit: string[];
  mappings: MappingDefinition[];
  /** Lookup tables by name. */
  lookups: Record<string, LookupConfig>;
  /** The names of units that only this source uses, with their codes. */
  units: Record<string, string>;
  onMissing: SourceConfig['onMissing'];
  /** Fractions from 0 to 1. */
  guard: SourceConfig['guard'];
  /** How often streams that give changes are also read completely. */
  snapshotEveryMs: number;
  /** Its path in the config, such as `sources[0]`. */
  path: string;
}

/** The address of the dashboard, and who may use it. */
export interface LoadedWeb {
  host: string;
  port: number;
  allowedHosts: readonly string[];
  trustedProxies: readonly string[];
  /** Null if people can only log in as users. */
  token: SecretSource | null;
  users: readonly { name: string; role: WebRole; password: SecretSource }[];
}

/** A config that was found free of problems, with its defaults filled in and its paths made absolute. */
export interface LoadedConfig<Connector> {
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
  sources: LoadedSource<Connector>[];
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
}
