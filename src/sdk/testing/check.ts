import type { Connector } from '../connector.ts';
import type { ConnectorFixtures } from './fixtures.ts';

/** One promise of a connector. */
export interface ConnectorCheck {
  /** A sentence about the connector, as `reads the same rows again`. */
  name: string;
  /** Resolves if the connector keeps the promise. Otherwise it throws an error that says what is wrong. */
  run: () => Promise<void>;
}

/** Makes some of the checks for a connector. */
export type CheckMaker = (connector: Connector, fixtures: ConnectorFixtures) => ConnectorCheck[];
