// Everything that the author of a connector imports to test it.
export type { ConnectorCheck } from './check.ts';
export { connectorChecks } from './connector-checks.ts';
export { fileDamages } from './file-damages.ts';
export type { ConnectorFixtures, Damage, LargeSource, Sample, Settings } from './fixtures.ts';
