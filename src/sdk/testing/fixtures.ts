import { appendFile, rename, truncate, writeFile } from 'node:fs/promises';
import type { JsonObject } from '../../lib/json.ts';
import type { Connector } from '../connector.ts';

/** The config of a source with one stream. */
export interface Settings {
  options?: JsonObject;
  stream?: JsonObject;
}

/** A small source that exists, and the rows that it has. */
export interface Sample extends Settings {
  /** The special property of the sample. It becomes a part of the names of the checks. */
  about: string;
  rows: number;
  /** How many of the rows have issues. */
  withIssues?: number;
}

/** Something that happens to a source while it is read. */
export interface Damage {
  /** What happens, such as `the file is cut short`. */
  about: string;
  now(): Promise<void>;
}

/** A source of many rows. Every check that needs such a source makes a new one. */
export interface LargeSource extends Settings {
  /** The damages that can happen to it, at least one. */
  damages: readonly Damage[];
  /**
   * How many rows the source has given so far. Absent if it cannot count them: a server of the test can count, a file
   * cannot.
   */
  given?(): number;
  /** Called after the check, for instance to stop a server. */
  close?(): Promise<void>;
}

/** What the author of a connector provides, so that the connector can be checked. */
export interface ConnectorFixtures {
  /** The folder to which paths in options are relative, like the folder of a config file. */
  folder: string;
  samples: readonly [Sample, ...Sample[]];
  /** Settings that the connector's schemas have to refuse, at least one. */
  refused: readonly [Settings, ...Settings[]];
  /**
   * Valid settings for a source that cannot be reached: a file that does not exist, or a server that does not answer.
   */
  unreachable: Settings & {
    /** A text that the error has to contain, so that a person knows what to check, such as the path or the address. */
    names: string;
  };
  /** Makes a source with exactly this many good rows. It may write its files into the folder, which is empty. */
  large: (rows: number, folder: string) => Promise<LargeSource>;
  /** The values of secret options in the settings above. */
  secrets?: readonly string[];
}

/** One check of the contract of a connector. */
export interface ConnectorCheck {
  /** A sentence about the connector, such as `reads the same rows again`. */
  name: string;
  /** Resolves if the sentence is true of the connector. Otherwise rejects with an error that describes the problem. */
  run: () => Promise<void>;
}

/** Makes some of the checks for a connector. */
export type CheckMaker = (connector: Connector, fixtures: ConnectorFixtures) => ConnectorCheck[];

/** Damages that can happen to a file while it is read, for the fixtures of connectors that read files. */
export function fileDamages(path: string): Damage[] {
  return [
    { about: 'the file is cut short', now: () => truncate(path, 10) },
    { about: 'the file grows', now: () => appendFile(path, '\n') },
    { about: 'the file is overwritten', now: () => writeFile(path, '') },
    { about: 'the file is renamed', now: () => rename(path, `${path}.old`) },
  ];
}
