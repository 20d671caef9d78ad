// Everything that the author of a connector imports to test it.

export { connectorChecks } from './connector-checks.ts';
export type { ApiPaging, ApiRequest, InRequest, PageSize, RestApi, RestFixtures, TokensOf } from './rest-api.ts';
export { restChecks, restChecksLeftOut } from './rest-checks.ts';
export type {
  ChangingSource,
  ConnectorCheck,
  ConnectorFixtures,
  Damage,
  LargeSource,
  Sample,
  Settings,
  ShrinkingSource,
} from './source-under-test.ts';
export { fileDamages } from './source-under-test.ts';
