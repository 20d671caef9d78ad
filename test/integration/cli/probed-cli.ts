import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const LAUNCHER = join(import.meta.dirname, '../../../src/launcher.mjs');

/** Code that runs before the program. At the end it writes the names of the packages that Node has loaded. */
const PROBE = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from 'node:fs';
  import { getCompileCacheDir, registerHooks } from 'node:module';
  const urls = [];
  registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
  process.on('exit', () => {
    writeFileSync(process.env.PROBE_FILE, JSON.stringify({ urls, cache: getCompileCacheDir() ?? null }));
  });
`)}`;

export interface Probed {
  status: number | null;
  stdout: string;
  stderr: string;
  /** The packages from which Node has loaded a file. */
  packages: string[];
  /** The folder of Node's compile cache, or null if there is none. */
  cache: string | null;
}

/** Runs the program in its own process, with only the given environment. */
export function probedCli(args: readonly string[], env: Record<string, string>, cwd?: string): Probed {
  return probed([LAUNCHER, ...args], env, cwd);
}

/** Runs a module that only imports the module at `path`. */
export function probedImport(path: string, env: Record<string, string>): Probed {
  return probed(['--input-type=module', '--eval', `import ${JSON.stringify(pathToFileURL(path).href)};`], env);
}

function probed(args: readonly string[], env: Record<string, string>, cwd?: string): Probed {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-probe-'));
  const file = join(folder, 'found.json');
  try {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', PROBE, ...args], {
      cwd,
      env: { PATH: process.env['PATH'], PROBE_FILE: file, ...env },
      encoding: 'utf8',
    });
    const { urls, cache } = JSON.parse(readFileSync(file, 'utf8')) as { urls: string[]; cache: string | null };
    const packages = urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []);
    return { status, stdout, stderr, packages: [...new Set(packages)].toSorted(), cache };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
