import { Console } from 'node:console';
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BUILT_IN } from '../../../connectors/index.ts';
import { type ConnectorFlaw, type ConnectorLoader, isPathOfConnector } from '../../config/connectors.ts';
import {
  err,
  Fault,
  importReasonOf,
  isEsModuleReadAsCommonJs,
  messageOf,
  ok,
  type Result,
  systemCodeOf,
} from '../../lib/errors.ts';
import { findPackage } from '../../lib/package.ts';
import { type Connector, SDK_VERSION } from '../../sdk/connector.ts';

/** Loads built-in connectors by id, and those of other authors by a path or by the name of their package. */
export const connectorLoader: ConnectorLoader<Connector> = {
  ids: Object.keys(BUILT_IN),
  async load(name, folder) {
    const builtIn = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined;
    if (builtIn !== undefined) return ok(await builtIn());
    provideSdk();
    if (isPathOfConnector(name)) return loadModule(pathToFileURL(resolve(folder, name)).href, `The connector ${name}`);
    return isPackageName(name) ? loadPackage(name, folder) : null;
  },
};

const PACKAGE_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * A connector's package has a dash or a scope in its name. So the loader does not search packages for a mistyped id of
 * a built-in connector.
 */
function isPackageName(name: string): boolean {
  return PACKAGE_NAME.test(name) && (name.startsWith('@') || name.startsWith('dpp-sync-'));
}

/** Loads a package that is installed beside the config or with this program. */
async function loadPackage(name: string, folder: string): Promise<Result<Connector, ConnectorFlaw>> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== name) return next(specifier, context);
      const parentURL = pathToFileURL(join(folder, 'dpp-sync.yaml')).href;
      try {
        return next(specifier, { ...context, parentURL });
      } catch (error) {
        if (systemCodeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
        return next(specifier, context);
      }
    },
  });
  try {
    return await loadModule(name, `The connector package ${name}`);
  } finally {
    hooks.deregister();
  }
}

async function loadModule(specifier: string, what: string): Promise<Result<Connector, ConnectorFlaw>> {
  let exported: unknown;
  try {
    exported = await import(specifier);
  } catch (error) {
    return err(importFlaw(error, specifier, what));
  }
  if (typeof exported === 'object' && exported !== null && 'module.exports' in exported) {
    return err(commonJsFlaw(what));
  }
  const found: unknown =
    typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : undefined;
  return checked(found, what);
}

function commonJsFlaw(what: string): ConnectorFlaw {
  return {
    message: `${what} is a CommonJS module, and connectors are ES modules.`,
    cure: 'Set "type": "module" in its package.json (or name it .mjs or .mts), and write `export default defineConnector({ … })`.',
  };
}

function importFlaw(error: unknown, specifier: string, what: string): ConnectorFlaw {
  const code = systemCodeOf(error);
  const reason = messageOf(error);
  const isPath = specifier.startsWith('file:');
  // The error may also mean that the module exists and a module that it imports is missing.
  const missing = isPath ? `Cannot find module '${fileURLToPath(specifier)}'` : `Cannot find package '${specifier}'`;
  if (code === 'ERR_MODULE_NOT_FOUND' && reason.startsWith(missing)) {
    return isPath
      ? { message: `${what} does not exist.`, cure: 'Check the path, which is relative to the config file.' }
      : { message: `${what} is not installed.`, cure: `Install it beside the config file: npm install ${specifier}` };
  }
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') {
    return {
      message: `${what} has TypeScript files, which Node does not run within node_modules.`,
      cure: 'The author of the package has to publish it as JavaScript.',
    };
  }
  if (isEsModuleReadAsCommonJs(error)) return commonJsFlaw(what);
  return {
    message: `${what} cannot be loaded: ${importReasonOf(error)}.`,
    cure: (error instanceof Fault ? error.suggestion : undefined) ?? 'Correct the module, or ask its author.',
  };
}

const EXPORT =
  'Export it as the default: `export default defineConnector({ … })`, with `defineConnector` from dpp-sync/sdk.';

/** Checks that a module exports a connector of `defineConnector`, because a path can name any module. */
function checked(value: unknown, what: string): Result<Connector, ConnectorFlaw> {
  if (typeof value !== 'object' || value === null)
    return err({ message: `${what} has no default export.`, cure: EXPORT });
  const { sdk, id, title, options, streamOptions, reads, open } = value as Record<string, unknown>;
  if (sdk === undefined)
    return err({ message: `The default export of ${lower(what)} is not a connector.`, cure: EXPORT });
  if (sdk !== SDK_VERSION) {
    return err({
      message: `${what} was written for version ${JSON.stringify(sdk)} of the SDK, and this program has version ${SDK_VERSION}.`,
      cure: 'Install a version of the connector that fits, or another version of dpp-sync.',
    });
  }
  const members: [string, boolean, string][] = [
    ['id', typeof id === 'string', "a text such as 'acme'"],
    ['title', typeof title === 'string', 'a text'],
    ['options', isSchema(options), SCHEMA],
    ['streamOptions', isSchema(streamOptions), SCHEMA],
    ['reads', typeof reads === 'function', "'snapshot', 'changes' or 'changes-and-snapshot'"],
    ['open', typeof open === 'function', 'a function'],
  ];
  const bad = members.filter(([, isGood]) => !isGood);
  if (bad.length === 0) return ok(value as Connector);
  return err({
    message: `${what} has no ${bad.map(([name]) => `\`${name}\``).join(', ')}, or in another form.`,
    cure: `Correct it: ${bad.map(([name, , form]) => `\`${name}\` is ${form}`).join('; ')}.`,
  });
}

const SCHEMA = 'a schema such as `z.strictObject({ … })`, with `z` from dpp-sync/sdk';

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

function lower(what: string): string {
  return what.charAt(0).toLowerCase() + what.slice(1);
}

const NAME = 'dpp-sync/sdk';
/** Names that the package does not have. A connector may import `dpp-sync/sdk/testing` for its tests. */
const WRONG_NAME = /^dpp-sync(?:$|\/(?!sdk\/testing$|package\.json$))/;

let isProvided = false;

/**
 * Lets connectors and mapping modules import `dpp-sync/sdk` from any folder. They get the SDK of the running program,
 * even if another copy is installed beside them, so that both use the same classes. What they write to the console goes to
 * stderr.
 */
export function provideSdk(): void {
  if (isProvided) return;
  isProvided = true;
  // stdout belongs to the command: with --json it is one document.
  globalThis.console = new Console(process.stderr);
  const url = pathToFileURL(sdkFile()).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === NAME)
        return { url, format: url.endsWith('.ts') ? 'module-typescript' : 'module', shortCircuit: true };
      if (WRONG_NAME.test(specifier)) throw new Error(`There is no module ${specifier}: import from ${NAME}`);
      return next(specifier, context);
    },
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
