// Removes from an installed node_modules what the program never reads: native modules of other platforms and their C
// sources, type declarations and source maps. The Dockerfile runs it: node src/prune-modules.ts node_modules
import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';

const [modules] = process.argv.slice(2);
if (modules === undefined) throw new Error('Name the folder: node src/prune-modules.ts node_modules');

const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
const isMusl = process.platform === 'linux' && header.glibcVersionRuntime === undefined;
/** The name of prebuilt native modules (files or folders) for the machine that runs this script. */
const HERE = `${process.platform}${isMusl ? 'musl' : ''}-${process.arch}`;

const TYPES = /\.d\.[cm]?ts$/;
const SOURCE_MAP = /\.(?:[cm]?js|[cm]?ts|css)\.map$/;
const C_SOURCE = /\.(?:c|cc|cpp|cxx|h|hpp|gyp|gypi)$/;

/** True for `prebuilds/win32-x64.node` and for files in `prebuilds/win32-x64`. */
function isForAnotherPlatform(path: string): boolean {
  const parts = path.split(/[\\/]/);
  const at = parts.lastIndexOf('prebuilds');
  return at !== -1 && at < parts.length - 1 && parts[at + 1]?.replace(/\.node$/, '') !== HERE;
}

function isUnread(path: string): boolean {
  const name = basename(path);
  return TYPES.test(name) || SOURCE_MAP.test(name) || C_SOURCE.test(name) || isForAnotherPlatform(path);
}

const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
for (const { parentPath, name } of files) {
  const path = join(parentPath, name);
  if (isUnread(path)) rmSync(path);
}
