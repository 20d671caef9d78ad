import type { Connector } from '../connector.ts';
import type { ConnectorFixtures } from './fixtures.ts';

/** One check of the contract of a connector. */
export interface ConnectorCheck {
  /** A sentence about the connector, such as `reads the same rows again`. */
  name: string;
  /** Resolves if the sentence is true of the connector. Otherwise rejects with an error that describes the problem. */
  run: () => Promise<void>;
}

/** Makes some of the checks for a connector. */
export type CheckMaker = (connector: Connector, fixtures: ConnectorFixtures) => ConnectorCheck[];
