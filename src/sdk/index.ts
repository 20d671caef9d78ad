// Everything that the author of a connector or of a mapping module imports. It is the only file of the project that
// re-exports other files.
export { z } from 'zod';
export type { Issue as OwnIssue, Place, ReportedIssue as Issue } from '../domain/issue.ts';
export type { Item, ItemKind, ItemRef } from '../domain/item.ts';
export type { MappingModule, MappingTools } from '../domain/mapping.ts';
export { RAW_FIELD } from '../domain/record.ts';
export { normalizeDecimal } from '../lib/decimal.ts';
export type { JsonObject, JsonValue } from '../lib/json.ts';
export { countMembers, isJsonObject, parseExactly, repeatedName, repeatedNames } from '../lib/json.ts';
export type { Logger } from '../lib/logging/logging.ts';
export { findOddCharacter } from '../lib/text/safe-text.ts';
export { isMisspelt } from '../lib/text/suggest.ts';
export type {
  Connector,
  ConnectorDefinition,
  ConnectorHost,
  FoundColumns,
  HeaderCandidate,
  OpenSource,
  Page,
  PullRequest,
  ReadMode,
  SourceRow,
  StreamCheck,
  StreamLook,
  StreamReads,
  StreamTarget,
} from './connector.ts';
export { defineConnector, defineMapping, installCommandOf, SDK_VERSION, secret, sourceFault } from './connector.ts';
export type { PathStep } from './document-path.ts';
export { EACH, formatDocumentPath, listAt, parseDocumentPath, valueAt } from './document-path.ts';
export type { FileConnectorDefinition, FileRequest } from './files/file-connector.ts';
export { defineFileConnector } from './files/file-connector.ts';
export { CHANGES_BY_DEFAULT } from './files/file-options.ts';
export type { FileQuery } from './files/find-files.ts';
export { findFiles, formatFiles } from './files/find-files.ts';
export type { OpenFile, TextPiece } from './files/open-file.ts';
export { openLocalFile, readFileText } from './files/open-file.ts';
export type { ContentKind } from './files/recognise.ts';
export { assertContent, contentFault, recogniseContent } from './files/recognise.ts';
export type { SourceFile } from './files/source-file.ts';
export type { PageBuffer } from './page-buffer.ts';
export { createPageBuffer, PAGE_BYTES_MAX, PAGE_ROWS_MAX } from './page-buffer.ts';
export type { Exchange } from './rest/exchange.ts';
export type { RestConnectorDefinition } from './rest/rest-connector.ts';
export { defineRestConnector, restConnector } from './rest/rest-connector.ts';
export type { RestSourceInput, RestStreamInput } from './rest/rest-options.ts';
export type { CellProblem, NumberFormat, SpreadsheetCell, SpreadsheetContext } from './spreadsheet.ts';
export {
  builtInNumberFormat,
  cellValue,
  columnLettersOf,
  columnOfLetters,
  PLAIN_NUMBER_FORMAT,
  parseNumberFormat,
  unescapeCellText,
} from './spreadsheet.ts';
export { columnLike } from './tables/table-row.ts';
export type { FileDecoder } from './text-decoder.ts';
export { byteOrderMarksAt, createFileDecoder, Encoding, isEncoding } from './text-decoder.ts';
export type { NotANumber, TextRow } from './text-values.ts';
export {
  createDecimalReader,
  createRowNumbering,
  damagedFields,
  damageIssue,
  decimalIssue,
  encodingIssues,
  withoutTextFormula,
} from './text-values.ts';
export { isRecordPath, isValuePath } from './xml/record-path.ts';
export { readXmlPages, readXmlRecords } from './xml/records.ts';
export type { XmlRecord, XmlRecordOptions } from './xml/xml-record.ts';
export { XML_FILE_OPTIONS, xmlListOf, xmlObjectOf, xmlObjectsOf, xmlTextOf } from './xml/xml-record.ts';
