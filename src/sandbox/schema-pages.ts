import type { Document } from './answer.ts';
import type { OperationName } from './endpoints.ts';
import type { Operation } from './operation.ts';
import type { SandboxSettings } from './settings.ts';

/** The pages that describe the API, by path. */
export function createSchemaPages(
  _operations: Record<OperationName, Operation>,
  _settings: SandboxSettings,
): Record<string, Document> {
  return {};
}
