// Makes the text by which an expression names a member of a value. Cures contain these texts, so the texts have to
// compile.

import type { ASTNode } from '@marcbachmann/cel-js';
import { withShapeless } from '../../../lib/text/safe-text.ts';

/** Reserved words of CEL, which cannot follow a point. */
const RESERVED = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
);

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name);
}

/** A name as a text of CEL, with an escape for each character that people cannot see. */
function quoted(name: string): string {
  return withShapeless(JSON.stringify(name), (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    // CEL refuses the two halves of a pair.
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** The expression for a member: `row.MATNR`, or `row["Sort Fld"]` for a name that is not an identifier. */
export function memberAccess(owner: string, name: string): string {
  return isIdentifier(name) ? `${owner}.${name}` : `${owner}[${quoted(name)}]`;
}

/** The expression that asks whether a member is there: `has(row.MATNR)`, or `"Sort Fld" in row`. */
export function memberPresence(owner: string, name: string): string {
  return isIdentifier(name) ? `has(${owner}.${name})` : `${quoted(name)} in ${owner}`;
}

/** The path of member names that a node stands for, such as `row`, `MATNR`. Null for any other node. */
export function memberPath(node: unknown): (string | number)[] | null {
  if (!isNode(node)) return null;
  if (node.op === 'id') return [node.args];
  if (node.op !== '.' && node.op !== '[]') return null;
  const [owner, name] = node.args;
  const before = memberPath(owner);
  const last = typeof name === 'string' ? name : name.op === 'value' ? name.args : null;
  if (before === null || (typeof last !== 'string' && typeof last !== 'bigint')) return null;
  return [...before, typeof last === 'bigint' ? Number(last) : last];
}

/** The text of the expression that a node stands for; null if `memberPath` gives null. */
export function accessText(node: unknown): string | null {
  const path = memberPath(node);
  if (path === null) return null;
  return path
    .slice(1)
    .reduce<string>(
      (at, name) => (typeof name === 'number' ? `${at}[${name}]` : memberAccess(at, name)),
      String(path[0]),
    );
}

/** True for a node of a parsed expression. */
export function isNode(node: unknown): node is ASTNode {
  return typeof node === 'object' && node !== null && 'op' in node && 'args' in node;
}
