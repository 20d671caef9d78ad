import { isJsonObject, type JsonValue, memberOf } from '../lib/json.ts';

/** The step `[*]`: into every element of a list. */
export const EACH = Symbol('[*]');

/** One step into a document: the name of a member, an index, or every element of a list. */
export type PathStep = string | number | typeof EACH;

const STEP = /^(?:\.([A-Za-z_][\w-]*)|\[(\d{1,9}|\*)\]|\["([^"\\]*)"\]|\['([^'\\]*)'\])/;
const PLAIN_NAME = /^[A-Za-z_][\w-]*$/;

/**
 * Parses `$`, `$.data.parts`, `$["data set"]`, `$.pages[0].items`, `$.parts[*].lines[*]`; null if the text is not a
 * path.
 */
export function parseDocumentPath(text: string): PathStep[] | null {
  if (!text.startsWith('$')) return null;
  const steps: PathStep[] = [];
  let rest = text.slice(1);
  while (rest !== '') {
    const match = STEP.exec(rest);
    if (match === null) return null;
    const [whole, plain, index, double, single] = match;
    if (index === '*') steps.push(EACH);
    else steps.push(index === undefined ? (plain ?? double ?? single ?? '') : Number(index));
    rest = rest.slice(whole.length);
  }
  return steps;
}

/** Formats steps in the form that `parseDocumentPath` reads. */
export function formatDocumentPath(steps: readonly PathStep[]): string {
  const parts = steps.map((step) =>
    step === EACH
      ? '[*]'
      : typeof step === 'number'
        ? `[${step}]`
        : PLAIN_NAME.test(step)
          ? `.${step}`
          : `[${JSON.stringify(step)}]`,
  );
  return `$${parts.join('')}`;
}

/** The value at a path, whose steps are names and indexes; undefined if there is none. */
export function valueAt(document: JsonValue, steps: readonly PathStep[]): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const step of steps) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else value = typeof step === 'string' && isJsonObject(value) ? memberOf(value, step) : undefined;
  }
  return value;
}

/**
 * The list at a path. Each `[*]` goes into every element of a list, and elements that lack the rest of the path are left out;
 * undefined if there is no list.
 */
export function listAt(document: JsonValue, steps: readonly PathStep[]): JsonValue[] | undefined {
  const fork = steps.indexOf(EACH);
  const list = valueAt(document, fork === -1 ? steps : steps.slice(0, fork));
  if (!Array.isArray(list)) return undefined;
  const rest = fork === -1 ? [] : steps.slice(fork + 1);
  if (rest.length === 0) return list;
  return list.flatMap((element) =>
    rest.includes(EACH) ? (listAt(element, rest) ?? []) : (valueAt(element, rest) ?? []),
  );
}
