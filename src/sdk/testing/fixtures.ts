import type { JsonObject } from '../../lib/json.ts';

/** The config of a source with one stream. */
export interface Settings {
  options?: JsonObject;
  stream?: JsonObject;
}

/** A small source that is there, and the rows that it has. */
export interface Sample extends Settings {
  /** What is special about it: a part of the names of its checks. */
  about: string;
  rows: number;
  /** How many of the rows have issues. */
  withIssues?: number;
}

/** Something that happens to a source while it is read. */
export interface Damage {
  /** As `the file is cut short`. */
  about: string;
  now(): Promise<void>;
}

/** A source of many rows. Every check that needs one has it made anew. */
export interface LargeSource extends Settings {
  /** What can happen to it, at least one. */
  damages: readonly Damage[];
  /** How many rows it has handed out so far, where it can count them: a server of the test can, a file cannot. */
  given?(): number;
  /** Called after the check, for instance to stop a server. */
  close?(): Promise<void>;
}

/** What the author of a connector provides, so that the connector can be checked. */
export interface ConnectorFixtures {
  /** Paths of options are relative to this folder, as they are to the folder of a config file. */
  folder: string;
  samples: readonly [Sample, ...Sample[]];
  /** Settings that the connector's schemas have to refuse, at least one. */
  refused: readonly [Settings, ...Settings[]];
  /** Settings without a mistake that lead nowhere: to a file that does not exist, to a server that does not answer. */
  unreachable: Settings & {
    /** A text that the error has to contain, so that a person knows what to look for: the path, the address. */
    names: string;
  };
  /** Makes a source with exactly this many good rows. It may write its files into the folder, which is empty. */
  large: (rows: number, folder: string) => Promise<LargeSource>;
  /** The values of secret options in the settings above. */
  secrets?: readonly string[];
}
