// Makes the text by which an expression names a member of a value. Cures contain these texts, so the texts have to
// compile.

import type { ASTNode } from '@marcbachmann/cel-js';

/** Reserved words of CEL, which cannot follow a point. */
const RESERVED = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
);

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name);
}

/** The expression for a member: `row.MATNR`, or `row["Sort Fld"]` for a name that is not an identifier. */
export function memberAccess(owner: string, name: string): string {
  return isIdentifier(name) ? `${owner}.${name}` : `${owner}[${JSON.stringify(name)}]`;
}

/** The expression that asks whether a member is there: `has(row.MATNR)`, or `"Sort Fld" in row`. */
export function memberPresence(owner: string, name: string): string {
  return isIdentifier(name) ? `has(${owner}.${name})` : `${JSON.stringify(name)} in ${owner}`;
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

function isNode(node: unknown): node is ASTNode {
  return typeof node === 'object' && node !== null && 'op' in node && 'args' in node;
}
