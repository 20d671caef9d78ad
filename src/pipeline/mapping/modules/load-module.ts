import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { MappingModule } from '../../../domain/mapping-module.ts';
import { importReasonOf, isEsModuleReadAsCommonJs } from '../../../lib/errors.ts';
import { err, ok, type Result } from '../../../lib/result.ts';
import { isOwnSource } from './module-source.ts';

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
