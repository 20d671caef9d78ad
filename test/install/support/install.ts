import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { API_KEY } from '../../support/worlds/world.ts';

export const ROOT = join(import.meta.dirname, '../../..');

/** The errors of npm if it reaches no registry and a package is not in its cache. */
const OUT_OF_REACH = /npm error code (?:ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|E?TIMEDOUT)/;

/**
 * The environment of a person who installs the program: without the variables of `npm test`, and without the
 * repository's programs in its PATH.
 */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(?!config_(registry|cafile|userconfig|cache)$)|NODE_|VITEST|INIT_CWD)/i.test(name),
    ),
  ),
  PATH: (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter),
};

/** A folder that every user may read. */
export function publicFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), name));
  chmodSync(folder, 0o755);
  return folder;
}

/** Copies the files that git tracks into a new folder. */
export function copyCheckout(): string {
  const folder = publicFolder('dpp-checkout-');
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((one) => one !== '' && existsSync(join(ROOT, one)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  return folder;
}

/** Settings of npm: it prefers its cache, and stops trying soon if it reaches no registry. */
const NPM = {
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_fetch_retries: '1',
  npm_config_fetch_retry_mintimeout: '1000',
};

/**
 * Runs npm with the Node of this machine, or with the Node of the tests as in the image. Returns false if npm reaches
 * no registry and a package is not in its cache.
 */
export async function npmRan(
  cwd: string,
  commandLine: string,
  node: 'machine' | 'tests' = 'machine',
): Promise<boolean> {
  const own = node === 'tests' ? `${dirname(process.execPath)}${delimiter}` : '';
  const env = { ...ENVIRONMENT, ...NPM, PATH: `${own}${ENVIRONMENT['PATH']}` };
  try {
    await promisify(execFile)('sh', ['-c', commandLine], { cwd, env });
    return true;
  } catch (error) {
    if (OUT_OF_REACH.test(error instanceof Error ? error.message : '')) return false;
    throw error;
  }
}

/** `describe` for tests of an installed program. It is skipped if `npmRan` has returned false. */
export function describeInstalled(ran: boolean): ReturnType<typeof describeWhere> {
  return describeWhere({
    isThere: ran,
    what: "npm's registry, or a cache of npm that holds the dependencies",
    requiredBy: 'DPP_SYNC_TEST_REQUIRE_NPM',
  });
}

/** A config with SQL Server on a port that no server has. */
export const SQL_SERVER = stringify({
  target: { baseUrl: 'http://127.0.0.1:9', apiKey: API_KEY },
  ledger: './sqlserver.db',
  sources: [
    {
      id: 'erp',
      connector: 'sql',
      options: { dialect: 'sqlserver', host: '127.0.0.1', port: 9, database: 'erp', user: 'reader' },
      streams: { products: { query: 'SELECT id FROM products', page: ['id'], key: ['id'] } },
      mappings: [{ stream: 'products', to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id' } }],
    },
  ],
});

export interface Run {
  status: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs programs in a separate folder. If the tests run as root, the programs run as a user who may write only in that
 * folder.
 */
export interface OrdinaryUser {
  folder: string;
  /** The ids of that user. Empty if the tests do not run as root. */
  ids: { uid?: number; gid?: number };
  write(path: string, content: string | Uint8Array): void;
  run(command: readonly string[], cwd?: string, env?: Readonly<Record<string, string>>): Run;
  /** Starts a server. Resolves with the first line that it prints. */
  serve(command: readonly string[]): Promise<{ line: string; stop(): Promise<void> }>;
}

export function createOrdinaryUser(): OrdinaryUser {
  const folder = publicFolder('dpp-user-');
  const isRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  const ids = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  const own = (path: string) => {
    if (ids.uid !== undefined) chownSync(path, ids.uid, ids.gid);
  };
  own(folder);
  const makeFolder = (path: string): void => {
    if (existsSync(join(folder, path))) return;
    makeFolder(dirname(path));
    mkdirSync(join(folder, path));
    own(join(folder, path));
  };
  const { PATH, LANG } = ENVIRONMENT;
  const options = { ...ids, cwd: folder, env: { PATH, LANG, HOME: folder, TMPDIR: folder } };
  return {
    folder,
    ids,
    write(path, content) {
      makeFolder(dirname(path));
      writeFileSync(join(folder, path), content);
      own(join(folder, path));
    },
    run([program = '', ...args], cwd = folder, env = {}) {
      const { status, stdout, stderr, error } = spawnSync(program, args, {
        ...options,
        cwd,
        env: { ...options.env, ...env },
        encoding: 'utf8',
      });
      if (error) throw error;
      return { status, stdout, stderr };
    },
    async serve([program = '', ...args]) {
      const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      const killWithTests = () => child.kill('SIGTERM');
      process.once('exit', killWithTests);
      const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
      let line = '';
      for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        line += String(text);
        if (line.includes('\n')) break;
      }
      if (!line.includes('\n')) throw new Error(`${program} ended before it served: ${stderr}`);
      return {
        line,
        async stop() {
          process.off('exit', killWithTests);
          child.kill('SIGTERM');
          child.stdout.resume();
          await closed;
        },
      };
    },
  };
}
