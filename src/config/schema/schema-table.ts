import type { SchemaTree } from './schema-tree.ts';

/** A table in Markdown for an object, followed by a titled table for each object in it. */
export function schemaSections(tree: SchemaTree, path = ''): string[] {
  const title = path === '' ? [] : [`### \`${path}\`\n`];
  const about = path !== '' && tree.description !== undefined ? [`${tree.description}\n`] : [];
  const inner = Object.entries(tree.properties ?? {}).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    if (member.items?.properties) return schemaSections(member.items, `${at}[]`);
    return member.properties ? schemaSections(member, at) : [];
  });
  return [...title, ...about, schemaTable(tree), ...inner];
}

/** A table in Markdown with a line for each field of an object. */
function schemaTable(tree: SchemaTree): string {
  const rows = Object.entries(tree.properties ?? {}).map(([name, member]) => {
    const needed = tree.required?.includes(name) ? ', required' : '';
    const value = member.default;
    const fallback = value === undefined || isEmptyObject(value) ? '' : `\`${JSON.stringify(value)}\``;
    return `| \`${name}\` | ${typeOf(member)}${needed} | ${cell(fallback)} | ${cell(member.description ?? '')} |`;
  });
  return ['| key | value | default | what it is |', '|---|---|---|---|', ...rows, ''].join('\n');
}

const TYPE_NAMES: Record<string, string> = { string: 'text', integer: 'whole number', boolean: 'true or false' };

function typeOf(tree: SchemaTree): string {
  if (tree.secret === true) return 'secret';
  if (typeof tree['title'] === 'string') return tree['title'];
  if (tree.enum) return tree.enum.map((value) => `\`${String(value)}\``).join(' or ');
  if (tree.const !== undefined) return `\`${JSON.stringify(tree.const).replaceAll('"', '')}\``;
  if (tree.anyOf) return [...new Set(tree.anyOf.map(typeOf).filter((type) => type !== '``'))].join(' or ');
  if (tree.type === 'array') return tree.items ? `list of ${typeOf(tree.items)}` : 'list';
  if (tree.type === 'object') return 'object';
  if (tree.type === undefined) return 'any';
  return [tree.type]
    .flat()
    .map((type) => TYPE_NAMES[type] ?? type)
    .join(' or ');
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** Text for a cell of a table in Markdown. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
