import { SaxesParser } from 'saxes';

/** Elements that may be records. */
export interface FoundElements {
  /** The path of the elements, in the form of the stream option `at`. */
  at: string;
  count: number;
  /** The names of the elements and attributes in them. */
  members: readonly string[];
}

/** The structure that the beginning of an XML document shows. */
export interface FoundXml {
  /** The name of the outermost element, without its prefix. */
  root: string;
  version: string | null;
  /** The names of the elements directly in the outermost element, without prefixes. */
  second: readonly string[];
  /** Elements with elements or attributes in them, the ones that are most likely to be the records first. */
  elements: readonly FoundElements[];
}

const DEPTH_MAX = 20;
/** The greatest depth. The connectors refuse deeper documents. */
const OPEN_MAX = 1_000;
const PATHS_MAX = 2_000;
const PIECE = 64 * 1024;

/** @returns null for a text that has no element */
export function recogniseXml(text: string): FoundXml | null {
  const paths = new Map<string, { count: number; depth: number; members: Set<string> }>();
  const open: string[] = [];
  const second = new Set<string>();
  let version: string | null = null;
  const parser = new SaxesParser({ position: false });
  // The connector reports mistakes of the document, because it reads all of it.
  parser.on('error', () => undefined);
  parser.on('opentag', ({ name, attributes }) => {
    const local = localName(name);
    if (open.length === 0) version = typeof attributes['version'] === 'string' ? attributes['version'] : null;
    if (open.length === 1) second.add(local);
    const around = open.length > 0 && open.length <= DEPTH_MAX ? paths.get(`/${open.join('/')}`) : undefined;
    around?.members.add(local);
    open.push(local);
    if (open.length > DEPTH_MAX) return;
    const path = `/${open.join('/')}`;
    const known = paths.get(path);
    const here = known ?? { count: 0, depth: open.length, members: new Set<string>() };
    here.count += 1;
    for (const attribute of Object.keys(attributes))
      if (!attribute.startsWith('xmlns')) here.members.add(`@${attribute}`);
    if (known === undefined && paths.size < PATHS_MAX) paths.set(path, here);
  });
  parser.on('closetag', () => void open.pop());
  for (let at = 0; at < text.length && open.length <= OPEN_MAX; at += PIECE) parser.write(text.slice(at, at + PIECE));
  const [root] = paths.keys();
  if (root === undefined) return null;
  return { root: root.slice(1), version, second: [...second], elements: recordsAmong(paths) };
}

/**
 * Finds the elements that may be records: they are repeated and have members. The outermost elements come first,
 * because an element that is repeated within a record is a part of it. Of elements at the same depth the most frequent
 * one comes first.
 */
function recordsAmong(paths: ReadonlyMap<string, { count: number; depth: number; members: Set<string> }>) {
  const withMembers = [...paths].filter(([, { members, depth }]) => members.size > 1 && depth > 1);
  const repeated = withMembers.filter(([, { count }]) => count > 1);
  const candidates = repeated.length > 0 ? repeated : withMembers;
  return candidates
    .toSorted(([, one], [, other]) => one.depth - other.depth || other.count - one.count)
    .map(([at, { count, members }]) => ({ at, count, members: [...members] }));
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
