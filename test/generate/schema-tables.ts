// Tables in Markdown of the fields of a schema.

import type { SchemaTree } from '../../src/config/schema/schema-walk.ts';

/**
 * A table in Markdown for an object, followed by a titled table for each object in it.
 *
 * @param shown the paths of values whose forms were shown, by their forms
 */
export function schemaSections(tree: SchemaTree, path = '', shown = new Map<string, string>()): string[] {
  const title = path === '' ? [] : [`### \`${path}\`\n`];
  const about = path !== '' && tree.description !== undefined ? [`${tree.description}\n`] : [];
  return [...title, ...about, schemaTable(tree), ...innerSections(tree, path, shown)];
}

function innerSections(tree: SchemaTree, path: string, shown: Map<string, string>): string[] {
  return Object.entries(tree.properties ?? {}).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const [form, ...others] = formsOf(member);
    if (member.items?.properties) return schemaSections(member.items, `${at}[]`, shown);
    if (member.properties) return schemaSections(member, at, shown);
    if (form === undefined) return [];
    return others.length === 0
      ? schemaSections({ ...form, description: member.description ?? form.description ?? '' }, at, shown)
      : unionSections(member, [form, ...others], { path: at, shown });
  });
}

/** The different objects that a value may be. */
function formsOf(tree: SchemaTree): SchemaTree[] {
  const forms = (tree.anyOf ?? tree.oneOf ?? []).flatMap((form): SchemaTree[] =>
    form.properties ? [form] : form.items ? [form.items] : [],
  );
  const objects = forms.filter(({ properties }) => properties !== undefined);
  const texts = objects.map((form) => JSON.stringify(form.properties));
  return objects.filter((_, at) => texts.indexOf(texts[at] ?? '') === at);
}

/** A table of the forms of a value, followed by a titled table for each form that has further keys. */
function unionSections(
  tree: SchemaTree,
  forms: readonly SchemaTree[],
  { path, shown }: { path: string; shown: Map<string, string> },
): string[] {
  const text = JSON.stringify(forms);
  const same = shown.get(text);
  const about = tree.description ?? '';
  if (same !== undefined) return [`### \`${path}\`\n`, `${about} It has the same forms as \`${same}\`.\n`];
  shown.set(text, path);
  const membersOf = (form: SchemaTree): [string, SchemaTree][] => Object.entries(form.properties ?? {});
  const constant = membersOf(forms[0] ?? {}).find(([name]) =>
    forms.every(({ properties }) => properties?.[name]?.const !== undefined),
  );
  const key = constant?.[0] ?? '';
  const nameOf = (form: SchemaTree): string => {
    const value = form.properties?.[key]?.const;
    if (value !== undefined) return `\`${key}: ${JSON.stringify(value).replaceAll('"', '')}\``;
    const own = form.required?.find((name) => !forms.every(({ properties }) => properties?.[name] !== undefined));
    return `\`${own ?? ''}\``;
  };
  const rows = forms.map((form) => `| ${nameOf(form)} | ${cell(form.properties?.[key]?.description ?? '')} |`);
  const list = ['| with | what it is |', '|---|---|', ...rows, ''].join('\n');
  const tables = forms.flatMap((form) => {
    const { [key]: _, ...properties } = form.properties ?? {};
    if (Object.keys(properties).length === 0) return [];
    return [`### \`${path}\` with ${nameOf(form)}\n`, schemaTable({ ...form, properties })];
  });
  const inner = forms.flatMap((form) => innerSections(form, path, shown));
  return [
    `### \`${path}\`\n`,
    `${about}\n`,
    ...(constant === undefined ? [] : [list]),
    ...tables,
    ...withoutRepetition(inner),
  ];
}

/** Sections of which several forms have the same ones, each once. */
function withoutRepetition(parts: readonly string[]): string[] {
  const seen = new Set<string>();
  let isRepeated = false;
  return parts.filter((part) => {
    if (part.startsWith('### ')) {
      isRepeated = seen.has(part);
      seen.add(part);
    }
    return !isRepeated;
  });
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
  const forms = tree.anyOf ?? tree.oneOf;
  if (forms) return [...new Set(forms.map(typeOf).filter((type) => type !== '``'))].join(' or ');
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
