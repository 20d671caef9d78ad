import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findPackage } from '../../lib/package.ts';

const NAME = 'dpp-sync/sdk';

let isProvided = false;

/**
 * Lets connectors and mapping modules import `dpp-sync/sdk` from any folder. They get the SDK of the running program,
 * even if another copy is installed beside them, so that both use the same classes.
 */
export function provideSdk(): void {
  if (isProvided) return;
  isProvided = true;
  const url = pathToFileURL(sdkFile()).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === NAME
        ? { url, format: url.endsWith('.ts') ? 'module-typescript' : 'module', shortCircuit: true }
        : next(specifier, context),
  });
}

/** The file of the SDK: the built file, or the source if this program runs from its sources. */
function sdkFile(): string {
  const { root } = findPackage();
  const built = join(root, 'dist', 'sdk.js');
  return import.meta.dirname.startsWith(join(root, 'dist')) && existsSync(built)
    ? built
    : join(root, 'src', 'sdk', 'index.ts');
}
