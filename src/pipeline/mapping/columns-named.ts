import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import type { MappingDefinition } from '../../domain/mapping.ts';

/** A column that a mapping needs in every row. */
export interface NamedColumn {
  name: string;
  /** Where the expression stands in the config, such as `sources[0].mappings[1].fields.name`. */
  path: string;
}

/**
 * The columns that a mapping needs: without one of them it fails for every row to which it applies. A column whose
 * presence the expression asks for (`has(row.X)`, `"X" in row`) may be absent. If `when` asks for a column, it may be
 * absent in the whole mapping. The columns that a module uses are not known.
 */
export function columnsNamedBy(definition: MappingDefinition): NamedColumn[] {
  const { path, when, each, key, refs = {}, fields = {} } = definition;
  const expressions: [at: string, text: string | undefined][] = [
    ['when', when],
    ['each', each],
    ['key', key],
    ...Object.entries(refs).map(([role, text]): [string, string | undefined] => [`refs.${role}`, text]),
    ...Object.entries(fields).map(([name, text]): [string, string] => [`fields.${name}`, text]),
  ];
  const named = new Map<string, NamedColumn>();
  let asked: ReadonlySet<string> = new Set();
  for (const [at, text] of expressions) {
    const found = columnsIn(text);
    if (found === null) continue;
    if (at === 'when') asked = found.asked;
    for (const name of found.read) {
      if (found.asked.has(name) || asked.has(name) || named.has(name)) continue;
      named.set(name, { name, path: `${path}.${at}` });
    }
  }
  return [...named.values()];
}

/** All columns that a mapping names, also those whose presence it asks for. */
export function columnsMentionedBy({ when, each, key, refs = {}, fields = {} }: MappingDefinition): string[] {
  const texts = [when, each, key, ...Object.values(refs), ...Object.values(fields)];
  return texts.flatMap((text) => {
    const found = columnsIn(text);
    return found === null ? [] : [...found.read, ...found.asked];
  });
}

interface ColumnsIn {
  read: Set<string>;
  /** The columns whose presence the expression asks for. */
  asked: Set<string>;
}

/** Null for an expression that is not valid CEL. The compiler of mappings reports it. */
function columnsIn(text: string | undefined): ColumnsIn | null {
  if (text === undefined) return null;
  const columns: ColumnsIn = { read: new Set(), asked: new Set() };
  try {
    collect(new Environment().parse(text.trim()).ast, columns);
  } catch {
    return null;
  }
  return columns;
}

function collect(node: ASTNode, columns: ColumnsIn): void {
  const { read, asked } = columns;
  if (node.op === '.' || node.op === '[]') addMember(node.args[0], node.args[1], read);
  else if (node.op === 'in') addMember(node.args[1], node.args[0], asked);
  else if (node.op === 'call' && node.args[0] === 'has') {
    const [tested] = node.args[1];
    if (tested?.op === '.' || tested?.op === '[]') addMember(tested.args[0], tested.args[1], asked);
  }
  collectAll(node.args, columns);
}

/** `args` holds nodes, texts, and lists of either. */
function collectAll(part: unknown, columns: ColumnsIn): void {
  if (Array.isArray(part)) for (const entry of part) collectAll(entry, columns);
  else if (isNode(part)) collect(part, columns);
}

function addMember(owner: ASTNode, member: ASTNode | string, to: Set<string>): void {
  if (owner.op !== 'id' || owner.args !== 'row') return;
  const name = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
  if (typeof name === 'string') to.add(name);
}

function isNode(part: unknown): part is ASTNode {
  return typeof part === 'object' && part !== null && 'op' in part && 'args' in part;
}
