import {
  formatDocumentPath,
  isJsonObject,
  type JsonValue,
  type OpenFile,
  type PathStep,
  parseExactly,
  repeatedNames,
} from '../../src/sdk/index.ts';
import { type BesideValues, DocumentScanner } from './document-scanner.ts';
import type { DocumentValues } from './element-row.ts';
import { readBytes } from './read-bytes.ts';

/** Paths of values of a document, by the names that the values get in the rows. */
export type DocumentPaths = Readonly<Record<string, readonly (string | number)[]>>;

export interface FoundValues extends BesideValues {
  isComplete(): boolean;
  values(): DocumentValues;
}

/**
 * Finds values of a document beside its list of records. A document may have them behind the list, so the rows can only be
 * made after this. The reading stops as soon as all values are found.
 */
export async function readDocumentValues(
  file: OpenFile,
  chunks: AsyncIterable<Buffer>,
  request: { steps: readonly PathStep[]; maxRecordBytes: number; paths: DocumentPaths },
): Promise<FoundValues> {
  const found = createFoundValues(request.paths);
  const scanner = new DocumentScanner({ file, ...request, beside: found });
  for await (const { bytes, final } of readBytes(file.name, chunks)) {
    scanner.feed(bytes, final);
    while (!found.isComplete() && scanner.next() !== null);
    if (found.isComplete()) break;
  }
  return found;
}

function createFoundValues(paths: DocumentPaths): FoundValues {
  const wanted = Object.entries(paths);
  const members = new Map<string, JsonValue | undefined>();
  const valueAt = (steps: readonly (string | number)[]): { value: JsonValue | undefined } | null => {
    for (let depth = 1; depth <= steps.length; depth++) {
      const path = formatDocumentPath(steps.slice(0, depth));
      if (members.has(path)) return { value: descend(members.get(path), steps.slice(depth)) };
    }
    return null;
  };
  return {
    isWanted: (path) => wanted.some(([, steps]) => path.every((step, index) => steps[index] === step)),
    keep(path, text) {
      const value = text === null ? undefined : parseExactly(text);
      members.set(formatDocumentPath(path), value);
      if (text === null || value === undefined) return undefined;
      const isAtWanted = (of: readonly PathStep[]) =>
        wanted.some(([, steps]) => steps.every((step, index) => index >= of.length || of[index] === step));
      return repeatedNames(text, value).find((one) => isAtWanted([...path, ...one.path, one.name]))?.name;
    },
    isComplete: () => wanted.every(([, steps]) => valueAt(steps) !== null),
    values: () => Object.fromEntries(wanted.map(([name, steps]) => [name, (valueAt(steps) ?? { value: null }).value])),
  };
}

function descend(member: JsonValue | undefined, steps: readonly (string | number)[]): JsonValue | undefined {
  if (member === undefined) return undefined;
  let value: JsonValue = member;
  for (const step of steps) {
    if (Array.isArray(value)) value = (typeof step === 'number' ? value[step] : undefined) ?? null;
    else value = (isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined) ?? null;
  }
  return value;
}
