// Everything that the author of a connector or of a mapping module imports. The one barrel of the project.
export { z } from 'zod';
export type { Issue } from '../domain/issue.ts';
export type { Item, ItemKind, ItemRef } from '../domain/item.ts';
export type { Place } from '../domain/place.ts';
export { RAW_FIELD } from '../domain/record.ts';
export { normalizeDecimal } from '../lib/decimal.ts';
export type { JsonObject, JsonValue } from '../lib/json.ts';
export type { Logger } from '../lib/logging.ts';
export type {
  Connector,
  ConnectorDefinition,
  ConnectorHost,
  OpenSource,
  Page,
  PullRequest,
  ReadMode,
  SourceRow,
  StreamCheck,
  StreamReads,
  StreamTarget,
} from './connector.ts';
export { defineConnector, SDK_VERSION } from './connector.ts';
export { sourceFault } from './faults.ts';
export type { FileConnectorDefinition, FileRequest } from './file-connector.ts';
export { defineFileConnector } from './file-connector.ts';
export type { FileQuery, SourceFile } from './files.ts';
export { findFiles, formatFiles } from './files.ts';
export type { MappingModule, MappingTools } from './mapping.ts';
export { defineMapping } from './mapping.ts';
export type { OpenFile } from './open-file.ts';
export { openLocalFile } from './open-file.ts';
export type { PageBuffer } from './page-buffer.ts';
export { createPageBuffer, PAGE_BYTES_MAX, PAGE_ROWS_MAX } from './page-buffer.ts';
export { secret } from './secret.ts';
export type { FileDecoder } from './text-decoder.ts';
export { createFileDecoder, Encoding, isEncoding } from './text-decoder.ts';
