import { detectFormat } from '../../../connectors/json/index.ts';
import { EACH, formatDocumentPath, type PathStep } from '../../sdk/index.ts';

/** A list of objects in a JSON document. */
export interface FoundList {
  /** The path of the list, in the form of the stream option `at`. */
  at: string;
  /** True for a list within the elements of another one. */
  isNested: boolean;
  /** How many objects the list has in the text that was read. */
  objects: number;
  /** The names of their members. */
  members: readonly string[];
}

const LISTS_MAX = 500;
const MEMBERS_MAX = 500;
const DEPTH_MAX = 60;

interface OpenValue {
  kind: 'list' | 'object';
  steps: readonly PathStep[];
  /** For a list, the list itself; for an object, the list of which it is an element. */
  list: { members: Set<string>; objects: number } | null;
  /** The member that is being read. */
  name: string;
}

/**
 * Finds the lists of objects in a JSON text, which may be cut off: the one with the most objects first, lists within
 * others last.
 */
export function recogniseJson(text: string, name: string): FoundList[] {
  const lists = new Map<string, { steps: readonly PathStep[]; members: Set<string>; objects: number }>();
  const isLines = detectFormat({ file: name, head: Buffer.from(text.slice(0, 65_536)), atRoot: true }) === 'ndjson';
  const listAt = (steps: readonly PathStep[]) => {
    const id = formatDocumentPath(steps);
    const known = lists.get(id);
    if (known !== undefined || lists.size >= LISTS_MAX) return known ?? null;
    const made = { steps, members: new Set<string>(), objects: 0 };
    lists.set(id, made);
    return made;
  };
  const open: OpenValue[] = isLines ? [{ kind: 'list', steps: [], list: listAt([]), name: '' }] : [];
  let depth = 0;

  for (const token of jsonTokens(text)) {
    const around = open.at(-1);
    if (token.kind === 'name') {
      if (around === undefined || depth > 0) continue;
      around.name = token.text;
      if (around.list !== null && around.list.members.size < MEMBERS_MAX) around.list.members.add(token.text);
    } else if (token.kind === 'close') {
      if (depth > 0) depth -= 1;
      else open.pop();
    } else if (open.length >= DEPTH_MAX) depth += 1;
    else {
      const steps = stepsWithin(around);
      const element = around?.kind === 'list' ? around.list : null;
      if (token.kind === 'object' && element !== null) element.objects += 1;
      const list = token.kind === 'list' ? listAt(steps) : element;
      open.push({ kind: token.kind, steps, list, name: '' });
    }
  }
  return [...lists.values()]
    .filter(({ objects }) => objects > 0)
    .map(({ steps, members, objects }) => ({
      at: formatDocumentPath(steps),
      isNested: steps.includes(EACH),
      objects,
      members: [...members],
    }))
    .toSorted((one, other) => Number(one.isNested) - Number(other.isNested) || other.objects - one.objects);
}

function stepsWithin(around: OpenValue | undefined): readonly PathStep[] {
  if (around === undefined) return [];
  return [...around.steps, around.kind === 'list' ? EACH : around.name];
}

/** The tokens of the structure of a JSON text. Values that are neither lists nor objects are left out. */
export type JsonToken = { kind: 'list' | 'object' | 'close' } | { kind: 'name'; text: string };

const NAME_MAX = 200;

/**
 * Returns the structure of a JSON text that may be cut off anywhere. Text that is not JSON also gives tokens: the
 * connector, which reads the whole file, reports such text.
 */
function* jsonTokens(text: string): Generator<JsonToken> {
  let at = 0;
  while (at < text.length) {
    const sign = text[at];
    if (sign === '"') {
      const end = endOfString(text, at);
      if (isName(text, end)) yield { kind: 'name', text: nameIn(text.slice(at, end)) };
      at = end;
      continue;
    }
    if (sign === '{') yield { kind: 'object' };
    else if (sign === '[') yield { kind: 'list' };
    else if (sign === '}' || sign === ']') yield { kind: 'close' };
    at += 1;
  }
}

/** The position after the closing quote, or the end of the text. */
function endOfString(text: string, opening: number): number {
  for (let at = opening + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function isName(text: string, end: number): boolean {
  const rest = /\s*(.?)/sy;
  rest.lastIndex = end;
  return rest.exec(text)?.[1] === ':';
}

function nameIn(quoted: string): string {
  try {
    return String(JSON.parse(quoted)).slice(0, NAME_MAX);
  } catch {
    return quoted.slice(1, NAME_MAX);
  }
}
