import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';

/**
 * Joins the parts of a request: lists are joined, objects are merged, and other values are replaced. An object whose names are
 * numbers is merged into the elements of a list, for servers that take arguments by their position.
 */
export function mergeParts(first: JsonValue | undefined, second: JsonValue | undefined): JsonValue | undefined {
  if (first === undefined || second === undefined) return second ?? first;
  if (Array.isArray(first) && Array.isArray(second)) return [...first, ...second];
  if (!isJsonObject(second)) return second;
  const entries = Object.entries(second);
  if (Array.isArray(first) && hasPositions(second)) {
    const list = [...first];
    for (const [at, value] of entries) list[Number(at)] = mergeParts(first[Number(at)], value) ?? null;
    return Array.from(list, (value) => value ?? null);
  }
  if (!isJsonObject(first)) return second;
  const merged: JsonObject = { ...first };
  for (const [name, value] of entries) merged[name] = mergeParts(first[name], value) ?? null;
  return merged;
}

/** True if the names of an object are positions in a list. */
export function hasPositions(members: JsonObject): boolean {
  return Object.keys(members).every((name) => /^\d{1,4}$/.test(name));
}
