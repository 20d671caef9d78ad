import type { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { maskSecret } from '../../lib/logging/secrets.ts';
import { Config } from '../config.ts';
import { parseDocumentText } from '../document.ts';
import { formatPath, type PathSegment } from '../problem.ts';
import { type SchemaTree, schemaTreeOf, secretPathsIn, valueAt } from './schema-walk.ts';

/** One value of the config, in the form that may be shown. */
export interface ConfigEntry {
  /** The path of the value, such as `sources[0].options.delimiter`. */
  path: string;
  /** The written value with its placeholders. Of a secret at most the first 8 characters are shown. */
  value: string;
  from: 'file' | 'default';
  /** The line in the file; null for a default. */
  line: number | null;
}

/** The schemas of a source's own settings, which the config's schema does not know. */
interface SourceSchemas {
  options: z.ZodType;
  streamOptions: z.ZodType;
}

/** A value that is one placeholder without a fallback contains no secret. It names the file or variable of the secret. */
const PLACEHOLDER = /^\$\{(?:file:[^}]+?|[A-Za-z_][A-Za-z0-9_]*)\}$/;

/**
 * Describes the text of a config file: each value that the text gives, and each default that the text does not replace.
 * Null for a text that cannot be a config file.
 *
 * @param schemas the schemas of the sources, in the order of the file
 */
export function describeConfig(text: string, schemas: readonly (SourceSchemas | null)[]): ConfigEntry[] | null {
  const document = parseDocumentText(text);
  if (!document.ok || !isJsonObject(document.value.value as never)) return null;
  const found = document.value;
  const { value } = found;
  const secrets = new Set(secretPaths(value, schemas).map(formatPath));
  const isSecret = (path: readonly PathSegment[]) =>
    path.some((_, at) => secrets.has(formatPath(path.slice(0, at + 1))));
  const entries: ConfigEntry[] = [];

  function addValues(at: unknown, path: readonly PathSegment[]): void {
    const members = membersOf(at);
    if (members !== null && members.length > 0) {
      for (const [name, member] of members) addValues(member, [...path, name]);
      return;
    }
    const shown = textOf(at);
    entries.push({
      path: formatPath(path),
      value: isSecret(path) && !PLACEHOLDER.test(shown) ? maskSecret(shown) : shown,
      from: 'file',
      line: found.lineOf(path),
    });
  }

  function addDefaults(tree: SchemaTree, at: unknown, path: readonly PathSegment[]): void {
    for (const [name, member] of Object.entries(tree.properties ?? {})) {
      const inner = valueAt(at, [name]);
      if (inner !== undefined) addInner(member, inner, [...path, name]);
      else if (member.default !== undefined) addDefault(member, [...path, name]);
    }
  }

  function addInner(tree: SchemaTree, at: unknown, path: readonly PathSegment[]): void {
    if (tree.items !== undefined && Array.isArray(at)) {
      for (const [index, member] of at.entries()) addInner(tree.items, member, [...path, index]);
    } else addDefaults(tree, at, path);
  }

  function addDefault(tree: SchemaTree, path: readonly PathSegment[]): void {
    if (tree.properties !== undefined) return addDefaults(tree, {}, path);
    entries.push({ path: formatPath(path), value: textOf(tree.default), from: 'default', line: null });
  }

  addValues(value, []);
  addDefaults(schemaTreeOf(Config), value, []);
  for (const [index, schema] of schemas.entries()) {
    const options = valueAt(value, ['sources', index, 'options']) ?? {};
    if (schema !== null) addDefaults(schemaTreeOf(schema.options), options, ['sources', index, 'options']);
  }
  return entries;
}

function secretPaths(value: unknown, schemas: readonly (SourceSchemas | null)[]): PathSegment[][] {
  const ofSources = schemas.flatMap((schema, index) => {
    if (schema === null) return [];
    const options = ['sources', index, 'options'];
    const streams = valueAt(value, ['sources', index, 'streams']);
    const names = isJsonObject(streams as never) ? Object.keys(streams as object) : [];
    const within = (of: z.ZodType, path: PathSegment[]) =>
      secretPathsIn(of, valueAt(value, path)).map((inner) => [...path, ...inner]);
    return [
      ...within(schema.options, options),
      ...within(schema.streamOptions, options),
      ...names.flatMap((name) => within(schema.streamOptions, ['sources', index, 'streams', name])),
    ];
  });
  return [...secretPathsIn(Config, value), ...ofSources];
}

function membersOf(value: unknown): [PathSegment, unknown][] | null {
  if (Array.isArray(value)) return value.every((one) => typeof one !== 'object') ? null : [...value.entries()];
  return isJsonObject(value as never) ? Object.entries(value as object) : null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
