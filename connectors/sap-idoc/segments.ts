import { isJsonObject, type JsonObject, type JsonValue } from '../../src/sdk/index.ts';

/** The control record of an IDoc. It differs from one sending to the next, so no row has it. */
export const CONTROL = 'EDI_DC40';

/** A segment of an IDoc: its fields by their SAP names, and the segments in it, always as lists. */
export function segmentOf(element: JsonObject): JsonObject {
  const entries = Object.entries(element).flatMap(([name, value]): [string, JsonValue][] => {
    if (name.startsWith('@') || name === '#text') return [];
    return [[name, isSegment(value) ? listOf(value).map(segmentOf) : value]];
  });
  return Object.fromEntries(entries);
}

/** A segment somewhere in an IDoc, with the segment that it belongs to. */
export interface FoundSegment {
  fields: JsonObject;
  parent: JsonObject | null;
}

/** The occurrences of a segment in an IDoc, in their order. */
export function* findSegments(idoc: JsonObject, name: string): Generator<FoundSegment> {
  for (const [member, value] of Object.entries(idoc)) {
    if (!isSegment(value) || member === CONTROL) continue;
    for (const segment of listOf(value)) {
      if (member === name) yield { fields: segment, parent: null };
      yield* findWithin(segment, name, null);
    }
  }
}

/**
 * As the parent each gets the segment around it, with the fields and the other segments of that one: those of a BOM item
 * hold the material and the base quantity.
 */
function* findWithin(segment: JsonObject, name: string, parent: JsonObject | null): Generator<FoundSegment> {
  for (const [member, value] of Object.entries(segment)) {
    if (!isSegment(value)) continue;
    const others = Object.entries(segment).filter(([other]) => other !== member);
    const around: JsonObject = { ...Object.fromEntries(others), ...(parent === null ? {} : { parent }) };
    for (const child of listOf(value)) {
      if (member === name) yield { fields: child, parent: around };
      yield* findWithin(child, name, around);
    }
  }
}

function isSegment(value: JsonValue | undefined): boolean {
  return isJsonObject(value) || (Array.isArray(value) && value.some((one) => isJsonObject(one)));
}

function listOf(value: JsonValue): JsonObject[] {
  return (Array.isArray(value) ? value : [value]).filter((one) => isJsonObject(one));
}
