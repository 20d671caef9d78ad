import type { Connector } from '../connector.ts';
import type { ConnectorCheck } from './check.ts';
import type { ConnectorFixtures } from './fixtures.ts';
import { hostChecks } from './host-checks.ts';
import { optionChecks, secretChecks } from './option-checks.ts';
import { cursorChecks, damageChecks, readChecks } from './read-checks.ts';

/**
 * The whole contract of a connector, as named checks for any test runner. The checks run one after the other, because
 * some of them measure the whole process.
 *
 * ```ts
 * for (const { name, run } of connectorChecks(connector, fixtures)) test(name, run);
 * ```
 */
export function connectorChecks<Options, StreamOptions>(
  connector: Connector<Options, StreamOptions>,
  fixtures: ConnectorFixtures,
): ConnectorCheck[] {
  // The options of a fixture pass through the schemas before the connector gets them.
  const checked = connector as unknown as Connector;
  return [optionChecks, readChecks, cursorChecks, damageChecks, hostChecks, secretChecks].flatMap((make) =>
    make(checked, fixtures),
  );
}
