// Everything that the author of a connector or of a mapping module imports. The one barrel of the project.
export { z } from 'zod';
export type { Issue } from '../domain/issue.ts';
export type { Item, ItemKind, ItemRef } from '../domain/item.ts';
export type { Place } from '../domain/place.ts';
export { RAW_FIELD } from '../domain/record.ts';
export { normalizeDecimal } from '../lib/decimal.ts';
export type { JsonObject, JsonValue } from '../lib/json.ts';
export type { Logger } from '../lib/logging.ts';
export type { Connector, ConnectorHost, OpenSource, Page, SourceRow, StreamRequest } from './connector.ts';
export { defineConnector } from './connector.ts';
export { sourceFault } from './faults.ts';
export type { FileQuery, SourceFile } from './files.ts';
export { findFiles, formatFiles, readFileChunks } from './files.ts';
export type { MappingModule, MappingTools } from './mapping.ts';
export { defineMapping } from './mapping.ts';
export type { PageBuffer } from './page-buffer.ts';
export { createPageBuffer, PAGE_BYTES_MAX, PAGE_ROWS_MAX } from './page-buffer.ts';
