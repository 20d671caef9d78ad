import { registerHooks } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { ForeignCode, Issue } from '../../domain/issue.ts';
import { ITEM_KINDS, type Item, REF_KINDS, REF_ROLES, wordsOfProblem } from '../../domain/item.ts';
import {
  type Blocked,
  type MappableRecord,
  type MappingModule,
  type MappingTools,
  materialsOf,
  productsOf,
} from '../../domain/mapping.ts';
import { importReasonOf, isEsModuleReadAsCommonJs, messageOf } from '../../lib/errors.ts';
import { readBoundedFile } from '../../lib/files.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { findPackage } from '../../lib/package.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { country } from './functions/country.ts';
import { date } from './functions/date.ts';
import { decimal } from './functions/decimal.ts';
import { gtin } from './functions/gtin.ts';
import { lookup, lookupAll } from './functions/lookup.ts';
import { decodeEntities, htmlText } from './functions/text.ts';
import { type UnitTable, unit } from './functions/unit.ts';
import type { LookupTables } from './lookups.ts';
import { ANY_PRODUCT, type Made, madeItems, madeNothing, NOTHING } from './made.ts';
import { type ItemChecks, makeItem } from './make-item.ts';
import { MappingError } from './mapping-error.ts';
import { copyOfRow, keyText, kindOf, shown, toPayload } from './values.ts';

const ITEMS_MAX = 1000;
const ISSUES_MAX = 100;

const Key = z.union([z.string(), z.number(), z.bigint()]);

const DraftItem = z.strictObject({
  kind: z.enum(ITEM_KINDS),
  key: Key,
  payload: z.custom<object>(isJsonObject, 'expected an object'),
  refs: z
    .array(
      z.strictObject({
        role: z.enum(REF_ROLES),
        kind: z.enum(ITEM_KINDS),
        key: Key,
        either: z.literal(true).optional(),
      }),
    )
    .refine((refs) => refs.every(({ role, kind }) => REF_KINDS[role] === kind), 'a ref has the wrong kind for its role')
    .refine(
      (refs) => refs.every(({ role, either }) => !either || role === 'component'),
      '`either` is only for a ref with the role component',
    )
    .default([]),
});

const Items = z.array(DraftItem).max(ITEMS_MAX);

const RefusedRow = z.strictObject({
  issues: z
    .array(
      z.object({
        code: z.string().min(1).max(100),
        message: z.string().min(1).max(2000),
        field: z.string().max(200).optional(),
        value: z.json().optional(),
        cure: z.string().max(2000).optional(),
      }),
    )
    .min(1)
    .max(ISSUES_MAX),
  products: z.array(Key).max(ITEMS_MAX).optional(),
});

/**
 * Runs a mapping module on a copy of a row, so that the module cannot change the row for other mappings. Its result is
 * validated, and its errors become issues.
 */
export function applyModule(
  module: MappingModule,
  record: MappableRecord,
  { tools, checks }: { tools: MappingTools; checks: ItemChecks },
): Made {
  try {
    const given: unknown = module.map(copyOfRow(record.fields), {
      stream: record.stream,
      place: { ...record.place },
      tools,
    });
    if (Array.isArray(given)) {
      const items = Items.safeParse(given, { error: wordsOfProblem });
      return items.success ? toItems(items.data, checks) : refuse([nonsense(given, items.error)]);
    }
    const refused = RefusedRow.safeParse(given, { error: wordsOfProblem });
    if (!refused.success) return refuse([nonsense(given, refused.error)]);
    const { issues, products } = refused.data;
    const blocked =
      products === undefined
        ? ANY_PRODUCT
        : { ...NOTHING, products: products.map(keyText).filter((key) => key !== '') };
    return refuse(issues.map(toIssue), blocked);
  } catch (error) {
    if (error instanceof MappingError) {
      const { code, message, cure } = error;
      return refuse([{ code, message, ...(cure === undefined ? {} : { cure }) }]);
    }
    const message = `The mapping module threw: ${shown(messageOf(error))}`;
    return refuse([
      { code: 'module.threw', message, cure: 'Correct the module. If the module is right, correct the row.' },
    ]);
  }
}

/** A module can make any item of a row. If it refuses the row without naming products, any product may be affected. */
function refuse(issues: Issue[], blocked: Blocked = ANY_PRODUCT): Made {
  return madeNothing(issues, blocked);
}

function toItems(drafts: readonly z.infer<typeof DraftItem>[], checks: ItemChecks): Made {
  const made: Made = madeItems([]);
  const failed: Item[] = [];
  for (const draft of drafts) {
    const { payload, issues } = payloadOf(draft.payload);
    const given: Item = {
      kind: draft.kind,
      key: keyText(draft.key),
      payload,
      refs: draft.refs.flatMap(({ key, either, ...ref }) => {
        const text = keyText(key);
        return text === '' ? [] : [{ ...ref, key: text, ...(either === true ? { either } : {}) }];
      }),
    };
    const item: Result<Item, Issue[]> = issues.length > 0 ? err(issues) : makeItem(given, checks);
    if (item.ok) made.items.push(item.value);
    else {
      failed.push(given);
      made.issues.push(
        ...item.error.map((issue) => ({ ...issue, message: `${nameOf(given, drafts)}${issue.message}` })),
      );
    }
  }
  return { ...made, blocked: { products: productsOf(failed), materials: materialsOf(failed) } };
}

/** The module's value of each field, checked field by field, so that an issue names the field. */
function payloadOf(given: object): { payload: JsonObject; issues: Issue[] } {
  const payload: JsonObject = {};
  const issues: Issue[] = [];
  for (const [field, value] of Object.entries(given)) {
    try {
      Object.assign(payload, toPayload(Object.fromEntries([[field, value]])));
    } catch (error) {
      if (!(error instanceof MappingError)) throw error;
      const { code, message, cure = `Correct the value that the module gives for ${field}.` } = error;
      issues.push({ code, message: `${field}: ${message}`, field, cure });
    }
  }
  return { payload, issues };
}

/** Names the item that an issue is about, if the module has made several items. */
function nameOf({ kind, key }: Item, drafts: readonly unknown[]): string {
  return drafts.length > 1 ? `${kind} ${JSON.stringify(shown(key))}: ` : '';
}

function toIssue({ code, message, field, value, cure }: z.infer<typeof RefusedRow>['issues'][number]): Issue {
  return {
    code: code as ForeignCode,
    message,
    ...(field === undefined ? {} : { field }),
    ...(value === undefined ? {} : { value }),
    ...(cure === undefined ? {} : { cure }),
  };
}

function nonsense(given: unknown, error: z.ZodError): Issue {
  const promise = given instanceof Promise;
  // The promise that a module returned is not used. Without a handler for its rejection the process would end.
  if (promise) given.catch(() => undefined);
  const detail = promise
    ? 'a promise; a mapping is synchronous'
    : `${kindOf(given)} that is not a list of items: ${shown(complaintOf(error))}`;
  return {
    code: 'module.result',
    message: `The mapping module returned ${detail}.`,
    cure: 'Return a list of items {kind, key, payload, refs}, or {issues}.',
  };
}

/** The first problem of the result with its path, such as `0.kind: expected one of product, material`. */
function complaintOf(error: z.ZodError): string {
  const [first] = error.issues;
  if (first === undefined) return 'it has an invalid value';
  return [first.path.map(String).join('.'), first.message].filter((part) => part !== '').join(': ');
}

/**
 * The functions of expressions, for mapping modules. They return "" if an expression would get null; the field is left
 * out in both cases. They have the same optional arguments.
 */
export function createMappingTools({ tables, units }: { tables: LookupTables; units: UnitTable }) {
  return {
    country: (value: unknown) => country(value) ?? '',
    unit: (value: unknown) => unit(value, units) ?? '',
    decimal: (value: unknown, mark?: ',' | '.') => decimal(value, mark) ?? '',
    gtin: (value: unknown) => gtin(value) ?? '',
    date: (value: unknown, format?: string) => date(value, format) ?? '',
    htmlText: (value: unknown) => htmlText(value) ?? '',
    decodeEntities: (value: unknown) => decodeEntities(value) ?? '',
    lookup: (table: string, key: unknown, ...fallback: string[]) => {
      const found = lookup(tables, table, key, ...fallback);
      return typeof found === 'string' ? found : '';
    },
    lookupAll: (table: string, key: unknown) => copyOfValues(lookupAll(tables, table, key)),
  } satisfies MappingTools;
}

/** The tables are shared by all rows, so a module gets copies. */
function copyOfValues(values: readonly JsonValue[]): JsonValue[] {
  return structuredClone([...values]);
}

/** The URL parameter that is different for each version of a module. */
const VERSION = 'mapping';

/**
 * Imports the present version of a mapping module and of the files that it imports by relative path. Node keeps a
 * module in memory under its URL for ever, so every version gets a different URL. An old version stays in memory, a few
 * kilobytes each. The error is a full sentence.
 *
 * @param hash the version, from `readModuleSource`
 */
export async function loadModule(path: string, hash: string): Promise<Result<MappingModule, string>> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const version = versionOf(context.parentURL);
      return version !== null && isVersioned(resolved.url)
        ? { ...resolved, url: withVersion(resolved.url, version) }
        : resolved;
    },
  });
  try {
    const exported: unknown = await import(withVersion(pathToFileURL(path).href, hash));
    const module =
      typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : undefined;
    if (isMappingModule(module)) return ok(module);
    return err(
      `The module ${path} has no default export with a map function; export default defineMapping({ map … }).`,
    );
  } catch (error) {
    if (isEsModuleReadAsCommonJs(error)) {
      return err(
        `The module ${path} is read as CommonJS; set "type": "module" in its package.json, or name it .mts or .mjs.`,
      );
    }
    return err(`The module ${path} cannot be loaded: ${importReasonOf(error)}.`);
  } finally {
    hooks.deregister();
  }
}

function isMappingModule(value: unknown): value is MappingModule {
  return typeof value === 'object' && value !== null && 'map' in value && typeof value.map === 'function';
}

function versionOf(url: string | undefined): string | null {
  return url?.startsWith('file:') ? new URL(url).searchParams.get(VERSION) : null;
}

function isVersioned(url: string): boolean {
  if (!url.startsWith('file:') || versionOf(url) !== null) return false;
  const path = fileURLToPath(url);
  return !isOwnSource(path) && !path.includes(`${sep}node_modules${sep}`);
}

function withVersion(url: string, version: string): string {
  return `${url}?${VERSION}=${version}`;
}

/** The sources of a mapping module: its text, and the texts of the files that it imports by relative path. */
interface ModuleSource {
  /** SHA-256 over all source texts, without packages that are imported by name. */
  hash: string;
  /** The paths of these sources. */
  files: string[];
  /** The names of lookup tables that are literals in calls of `lookup("…", …)` and `lookupAll("…", …)`. */
  lookups: string[];
}

const FILES_MAX = 100;
const FILE_BYTES_MAX = 1024 * 1024;
const IMPORT = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*(['"])(\.{1,2}\/[^'"\n]{1,500})\1/g;
const LOOKUP = /\blookup(?:All)?\(\s*(['"])([^'"\n]{1,500})\1/g;

const { root: PACKAGE } = findPackage();
const OWN_FOLDERS = ['src', 'dist'].map((name) => join(PACKAGE, name) + sep);

/**
 * True for files of this application. The application's version covers them, and no mapping loads them a second time.
 */
export function isOwnSource(file: string): boolean {
  return OWN_FOLDERS.some((folder) => file.startsWith(folder));
}

/** Reads a module and the files that it imports by relative path. The error is a full sentence. */
export async function readModuleSource(path: string): Promise<Result<ModuleSource, string>> {
  const hashes = new Map<string, string>();
  const lookups = new Set<string>();
  const open = [path];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (hashes.has(file) || isOwnSource(file)) continue;
    if (hashes.size >= FILES_MAX) return err(`The module ${path} imports more than ${FILES_MAX} files.`);
    const text = await readBoundedFile(file, FILE_BYTES_MAX);
    if (!text.ok) {
      // A type-only import may name a missing file; a missing file that is needed is reported when the module is
      // loaded. A file that exists and is too large or unreadable must not be loaded.
      if (file !== path && text.error.kind === 'missing') continue;
      return err(`The module ${file} ${text.error.reason}.`);
    }
    hashes.set(file, sha256Hex(text.value));
    for (const match of text.value.matchAll(IMPORT))
      if (match[2] !== undefined) open.push(resolve(dirname(file), match[2]));
    for (const match of text.value.matchAll(LOOKUP)) if (match[2] !== undefined) lookups.add(match[2]);
  }
  const root = dirname(path) + sep;
  const parts = [...hashes].map(([file, hash]) => [file.startsWith(root) ? file.slice(root.length) : file, hash]);
  return ok({
    hash: sha256Hex(canonicalJson(parts.map((part) => part.join(' ')).sort())),
    files: [...hashes.keys()],
    lookups: [...lookups],
  });
}
