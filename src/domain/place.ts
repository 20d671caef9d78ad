/** The place of a row in its source. */
export interface Place {
  /** File name, table or URL path. */
  file?: string;
  /** Line in the file, from 1; the line where the row begins. */
  line?: number;
  /** A path into a document, such as `$.parts[3]`. */
  path?: string;
}

/** The text of a place in messages, such as `stuecklisten-01.csv:17`. */
export function formatPlace(place: Place): string {
  const parts = [place.file ?? '', place.line === undefined ? '' : String(place.line), place.path ?? ''];
  return parts.filter((part) => part !== '').join(':') || 'unknown place';
}
