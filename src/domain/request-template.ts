// The form of the body of a write, as JSON with placeholders: `{"data": {"type": "materials", "attributes": "$fields"}}`.

import { err, ok, type Result } from '../lib/errors.ts';
import { isJsonObject, type JsonValue } from '../lib/json.ts';
import { REF_ROLES, type RefRole } from './item.ts';

/** `fields` stands for all fields of the item, `id` for the remote id of the item, a role for the remote id of a ref. */
export type Placeholder = 'fields' | 'id' | RefRole;

export interface RequestTemplate {
  root: Part;
  /** The dotted path of each placeholder in the body. */
  places: ReadonlyMap<Placeholder, string>;
}

type Part =
  | { kind: 'text'; text: string }
  | { kind: 'placeholder'; name: Placeholder }
  | { kind: 'object'; members: readonly (readonly [name: string, part: Part])[] }
  | { kind: 'list'; entries: readonly Part[] };

/** The placeholders that the bodies of each kind may have. */
export const TEMPLATES = {
  product: ['fields'],
  productRow: ['fields'],
  material: ['fields', 'id'],
  bom_item: ['fields', ...REF_ROLES],
} as const satisfies Record<string, readonly Placeholder[]>;

/** Reads a template. The error says what is wrong with it. */
export function parseTemplate(text: string, allowed: readonly Placeholder[]): Result<RequestTemplate, string> {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return err('This is not JSON. A placeholder is a text in quotes, such as "$fields".');
  }
  if (!isJsonObject(value)) return err('The body has to be an object.');
  const places = new Map<Placeholder, string>();
  const problems: string[] = [];
  const root = partOf(value, [], { allowed, places, problems });
  const [problem] = problems;
  if (problem !== undefined) return err(problem);
  return places.has('fields') ? ok({ root, places }) : err('The placeholder "$fields" is missing.');
}

interface Reading {
  allowed: readonly Placeholder[];
  places: Map<Placeholder, string>;
  problems: string[];
}

function partOf(value: JsonValue, path: readonly string[], reading: Reading): Part {
  if (Array.isArray(value)) {
    return { kind: 'list', entries: value.map((entry, at) => partOf(entry, [...path, String(at)], reading)) };
  }
  if (isJsonObject(value)) {
    return {
      kind: 'object',
      members: Object.entries(value).map(([name, member]) => {
        if (name.includes('.'))
          reading.problems.push(`The name "${name}" has a dot, and dots separate the names of a path.`);
        return [name, partOf(member, [...path, name], reading)] as const;
      }),
    };
  }
  if (typeof value !== 'string' || !value.startsWith('$')) return { kind: 'text', text: JSON.stringify(value) };
  const name = reading.allowed.find((one) => value === `$${one}`);
  if (name === undefined) {
    reading.problems.push(
      `"${value}" is no placeholder here. Placeholders: ${reading.allowed.map((one) => `$${one}`).join(', ')}.`,
    );
    return { kind: 'text', text: 'null' };
  }
  if (reading.places.has(name)) reading.problems.push(`The placeholder "${value}" is there twice.`);
  reading.places.set(name, path.join('.'));
  return { kind: 'placeholder', name };
}

/**
 * The body as JSON text.
 *
 * A member whose placeholder has no value is left out. If the placeholder is a ref, the whole object around it is left out: a BOM
 * item has a material or a component. So is an object from which all members were left out.
 *
 * @param values the JSON text of each placeholder that has a value
 */
export function renderTemplate(
  { root }: RequestTemplate,
  values: Readonly<Partial<Record<Placeholder, string>>>,
): string {
  return textOf(root, values) ?? '{}';
}

function textOf(part: Part, values: Readonly<Partial<Record<Placeholder, string>>>): string | undefined {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'placeholder':
      return values[part.name];
    case 'list':
      return `[${part.entries.flatMap((entry) => textOf(entry, values) ?? []).join(',')}]`;
    case 'object': {
      const texts: string[] = [];
      for (const [name, member] of part.members) {
        const text = textOf(member, values);
        if (text !== undefined) texts.push(`${JSON.stringify(name)}:${text}`);
        else if (member.kind === 'placeholder' && member.name !== 'id') return undefined;
      }
      return texts.length === 0 && part.members.length > 0 ? undefined : `{${texts.join(',')}}`;
    }
  }
}
