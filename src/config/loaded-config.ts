import type { LookupConfig, MappingDefinition } from '../domain/mapping.ts';
import type { Profile } from '../domain/profile.ts';
import type { WebRole } from '../domain/web-role.ts';
import type { LoadedStream } from './checks/check-connector.ts';
import type { ConfigProblem } from './checks/problem.ts';
import type { Config, SourceConfig } from './config.ts';
import type { QueueSetting } from './fields.ts';
import type { FreshSettings } from './fresh-settings.ts';
import type { LoadedAlerts } from './load-alerts.ts';
import type { SecretSource } from './secret-source.ts';

/** A time of the day in which no run of a source begins by itself. */
export interface LoadedPause {
  /** Minutes after midnight by the clocks of the time zone. A pause that ends before it begins goes on past midnight. */
  fromMinute: number;
  toMinute: number;
  /** An IANA time zone. */
  timezone: string;
  /** The days of the week on which it begins, 0 for Sunday; null for every day. */
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
   * Reads the secrets of the options again, so that a new password is found without a restart.
   *
   * @throws Fault `config.invalid` when the file or variable of a secret is gone
   */
  readSettings(): Promise<FreshSettings>;
  omit: string[];
  mappings: MappingDefinition[];
  /** Lookup tables by name. */
  lookups: Record<string, LookupConfig>;
  /** The source's own names of units, with their codes. */
  units: Record<string, string>;
  onMissing: SourceConfig['onMissing'];
  /** Fractions from 0 to 1. */
  guard: SourceConfig['guard'];
  /** How often streams that give changes are also read completely. */
  snapshotEveryMs: number;
  /** Its path in the config, such as `sources[0]`. */
  path: string;
}

/** Where the dashboard listens, and who may use it. */
export interface LoadedWeb {
  host: string;
  port: number;
  allowedHosts: readonly string[];
  /** Null where people log in as users alone. */
  token: SecretSource | null;
  users: readonly { name: string; role: WebRole; password: SecretSource }[];
}

/** A config that was found free of problems, with its defaults filled in and its paths made absolute. */
export interface LoadedConfig<Connector> {
  /** The file it came from; absolute. */
  file: string;
  /** Another one for another content of the file or of its profile. The values of placeholders are not part of it. */
  digest: string;
  /** All files that it is made of: the config itself, its profiles and the files of placeholders; absolute. */
  files: readonly string[];
  /** The folder of that file, which every path in it is relative to; absolute. */
  folder: string;
  target: {
    baseUrl: string;
    apiKey: SecretSource;
    /** A key of its own for publishing, or null. */
    publishKey: SecretSource | null;
    /** Requests per second, or null. */
    maxRate: number | null;
    firstContact: Config['target']['firstContact'];
    bom: Config['target']['bom'];
  };
  profile: Profile;
  queue: QueueSetting;
  /** The ledger's file; absolute. */
  ledger: string;
  web: LoadedWeb | null;
  sources: LoadedSource<Connector>[];
  passports: Config['passports'] | null;
  alerts: LoadedAlerts;
  observe: {
    /** Null where nothing is traced. */
    traces: { endpoint: string; headers: Record<string, SecretSource>; sampleRatio: number } | null;
  };
  /** The folder is absolute. */
  backups: NonNullable<Config['backups']> | null;
  history: Config['history'];
  /** Settings that are allowed, and probably a mistake. */
  warnings: readonly ConfigProblem[];
  resolvePath(path: string): string;
  /** The text without any secret that is known so far, for texts that connectors have written (I7). */
  scrub(text: string): string;
}
