import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

export const ROOT = join(import.meta.dirname, '../..');

/** What npm says where it can reach no registry and its cache lacks something. */
const OUT_OF_REACH = /npm error code (?:ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|E?TIMEDOUT)/;

/** The environment of whoever installs: without what `npm test` adds, and without the repository's own programs. */
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

/** Runs npm. Its stdout, or null where it can reach no registry and its cache lacks something. */
export async function npm(cwd: string, ...args: string[]): Promise<string | null> {
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--no-progress'];
  const patient = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  try {
    const { stdout } = await promisify(execFile)('npm', [...args, ...quiet, ...patient], { cwd, env: ENVIRONMENT });
    return stdout;
  } catch (error) {
    if (OUT_OF_REACH.test(error instanceof Error ? error.message : '')) return null;
    throw error;
  }
}

export interface Run {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs programs in a folder of its own; where the tests run as root, as a user that may write nowhere else. */
export interface OrdinaryUser {
  folder: string;
  write(path: string, text: string): void;
  run(command: readonly string[], cwd?: string): Run;
  /** Starts a program that serves. Resolves with the first line that it prints. */
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
  const { PATH, LANG } = ENVIRONMENT;
  const options = { ...ids, cwd: folder, env: { PATH, LANG, HOME: folder, TMPDIR: folder } };
  return {
    folder,
    write(path, text) {
      writeFileSync(join(folder, path), text);
      own(join(folder, path));
    },
    run([program = '', ...args], cwd = folder) {
      const { status, stdout, stderr, error } = spawnSync(program, args, { ...options, cwd, encoding: 'utf8' });
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
