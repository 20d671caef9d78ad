// Everything that the author of a connector imports to test it.

export { connectorChecks } from './connector-checks.ts';
export type { ConnectorCheck, ConnectorFixtures, Damage, LargeSource, Sample, Settings } from './fixtures.ts';
export { fileDamages } from './fixtures.ts';
