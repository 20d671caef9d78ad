import { registerHooks } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { MappingModule } from '../../domain/mapping.ts';
import { err, importReasonOf, isEsModuleReadAsCommonJs, ok, type Result } from '../../lib/errors.ts';
import { readBoundedFile } from '../../lib/files.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { canonicalJson } from '../../lib/json.ts';
import { findPackage } from '../../lib/package.ts';

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
