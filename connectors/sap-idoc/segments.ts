import { isJsonObject, type JsonObject, type JsonValue, xmlObjectOf, xmlTextOf } from '../../src/sdk/index.ts';

/** The control record of an IDoc. It changes each time the IDoc is sent, so no row has it. */
export const CONTROL = 'EDI_DC40';

/** A segment of an IDoc: its fields by their SAP names, and the segments in it, always as lists. */
export function segmentOf(element: JsonObject): JsonObject {
  const entries = Object.entries(element).flatMap(([name, value]): [string, JsonValue][] => {
    if (name.startsWith('@') || name === '#text') return [];
    return [[name, isSegment(value) ? listOf(value).map(segmentOf) : value]];
  });
  return Object.fromEntries(entries);
}

/** A segment at any depth of an IDoc. */
export interface FoundSegment {
  fields: JsonObject;
  /** The segments around this segment, with their names, the outermost first. */
  around: readonly (readonly [name: string, segment: JsonObject])[];
}

/** The occurrences of a segment, in their order. */
export function* findSegments(
  segment: JsonObject,
  name: string,
  around: FoundSegment['around'] = [],
): Generator<FoundSegment> {
  for (const [member, value] of Object.entries(segment)) {
    if (!isSegment(value) || member === CONTROL) continue;
    for (const child of listOf(value)) {
      if (member === name) yield { fields: child, around };
      yield* findSegments(child, name, [...around, [member, child]]);
    }
  }
}

/** Adds the names of the segments at any depth of an IDoc to a set, as long as it has fewer than `max`. */
export function addSegmentNames(segment: JsonObject, names: Set<string>, max: number): void {
  for (const [name, value] of Object.entries(segment)) {
    if (names.size >= max) return;
    if (!isSegment(value) || name === CONTROL) continue;
    names.add(name);
    for (const child of listOf(value)) addSegmentNames(child, names, max);
  }
}

/**
 * A field of the segments around a row, such as `E1STZUM/E1MASTM/MATNR`: each step is a segment around the row, or the
 * first segment of its name beside such a segment. Empty text if there is no such segment.
 */
export function fieldAround(path: string, { around }: FoundSegment, idoc: JsonObject): string {
  const steps = path.split('/');
  const field = steps.pop() ?? '';
  let current = idoc;
  for (const [index, step] of steps.entries()) {
    const [name, segment] = around[index] ?? [];
    current = name === step && segment !== undefined ? segment : xmlObjectOf(current[step]);
  }
  return xmlTextOf(current[field]);
}

function isSegment(value: JsonValue | undefined): boolean {
  return isJsonObject(value) || (Array.isArray(value) && value.some((one) => isJsonObject(one)));
}

function listOf(value: JsonValue): JsonObject[] {
  return (Array.isArray(value) ? value : [value]).filter((one) => isJsonObject(one));
}
