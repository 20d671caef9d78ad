import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { acquireLock } from '../../ledger/file/lock.ts';
import { Fault, fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/files.ts';

/** The folder of a demo: a copy of the shipped example, and the files that the demo writes. */
export interface DemoFolder {
  /** The absolute path. */
  folder: string;
  configFile: string;
  /** The file in which the sandbox stores its data. */
  sandboxFile: string;
  /** The sandbox's key. */
  apiKey: string;
  /** The token for the dashboard. */
  webToken: string;
  /** Stores the sandbox's address in the file from which the config reads it. */
  setBaseUrl(baseUrl: string): Promise<void>;
}

/** The name of a file that marks the folder of a demo. The demo removes nothing in a folder without this file. */
const MARKER = '.dpp-sync-demo';
const MARKER_TEXT = 'A folder of `dpp-sync demo`. Every demo replaces its data/; everything else is yours.\n';

/** The system's error codes for a folder that may not or cannot be written. */
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'EEXIST']);

/**
 * Makes the folder of the demo, or uses the folder of an earlier demo. Existing files stay, so that an edited export is
 * used unchanged. Only the ledger and the sandbox's data are removed.
 *
 * @param shipped the folder of the example in this package
 * @throws Fault `usage` when the folder belongs to something else or cannot be written, `ledger.held` when another demo
 *   uses it
 */
export async function openDemoFolder(path: string, shipped: string): Promise<DemoFolder> {
  const folder = resolve(path);
  try {
    return await prepare(folder, shipped);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    throw fault('usage', `The demo cannot write to the folder ${folder}: ${fileReasonOf(error)}.`, {
      suggestion: 'With --dir, name a folder in which dpp-sync may write, such as `--dir /tmp/demo`.',
      cause: error,
    });
  }
}

function isUnwritable(error: unknown): boolean {
  const code = systemCodeOf(error) ?? '';
  // File systems without places for files, such as /proc, report ENOENT.
  const isMkdir = error instanceof Error && 'syscall' in error && error.syscall === 'mkdir';
  return UNWRITABLE.has(code) || (code === 'ENOENT' && isMkdir);
}

async function prepare(folder: string, shipped: string): Promise<DemoFolder> {
  await makeFolder(folder);
  const entries = await readdir(folder);
  if (entries.length > 0 && !entries.includes(MARKER)) {
    throw fault('usage', `${folder} is not empty, and no demo has made it.`, {
      suggestion: 'Name a folder that is empty or does not exist with --dir.',
    });
  }
  await writeFile(join(folder, MARKER), MARKER_TEXT);
  await copyMissing(shipped, folder);
  const data = join(folder, 'data');
  await makeFolder(data, 0o700);
  await removeData(data);

  const apiKey = await secretIn(join(data, 'api-key'), 'dpp_');
  const webToken = await secretIn(join(data, 'web-token'), '');
  return {
    folder,
    configFile: join(folder, 'dpp-sync.yaml'),
    sandboxFile: join(data, 'sandbox.db'),
    apiKey,
    webToken,
    setBaseUrl: (baseUrl) => writeFile(join(data, 'sandbox-url'), `${baseUrl}\n`),
  };
}

/**
 * Makes the config of the demo. The example reads variables that people with a platform set. The demo reads the files
 * of its sandbox instead.
 */
function ownConfig(text: string): string {
  const config = text
    .replace('${DPP_BASE_URL}', '${file:./data/sandbox-url}')
    .replace('${DPP_API_KEY}', '${file:./data/api-key}');
  return `${config.trimEnd()}\n\nweb: { port: 4280, token: "\${file:./data/web-token}" }\n`;
}

async function copyMissing(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, relative(from, source));
    if (existsSync(target)) continue;
    await makeFolder(dirname(target));
    if (entry.name === 'dpp-sync.yaml') await writeFile(target, ownConfig(await readFile(source, 'utf8')));
    else await copyFile(source, target);
  }
}

/** Removes the data files of the last demo by their names, if no process uses them. */
async function removeData(data: string): Promise<void> {
  const ledger = join(data, 'ledger.db');
  const lock = lockOf(ledger);
  try {
    for (const database of [ledger, join(data, 'sandbox.db')]) {
      for (const suffix of ['', '-wal', '-shm', '.mark']) await rm(`${database}${suffix}`, { force: true });
    }
  } finally {
    lock.release();
  }
}

function lockOf(ledger: string): { release(): void } {
  try {
    return acquireLock(ledger, () => null);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'ledger.held') throw error;
    throw fault('ledger.held', `Another process uses the ledger in ${dirname(dirname(ledger))}.`, {
      suggestion: 'End that demo or daemon with Ctrl-C, or name another folder with --dir.',
    });
  }
}

async function secretIn(file: string, prefix: string): Promise<string> {
  if (existsSync(file)) return (await readFile(file, 'utf8')).trim();
  const secret = `${prefix}${randomBytes(24).toString('base64url')}`;
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  return secret;
}

// The changes that the demo makes in its export, like changes that people in a factory might make. All other bytes of
// the file stay the same.

/** A value that was changed in an export. */
export interface ChangedValue {
  /** The path of the file within `exports`. */
  file: string;
  line: number;
  column: string;
  from: string;
  to: string;
  /** The name of the row's material. */
  key: string;
  name: string;
}

/** Raises the recycled content of the first raw material by a percent. Null if the file has no such row any more. */
export function changeMaterial(folder: string): Promise<ChangedValue | null> {
  return changeCell(folder, 'materials.csv', 'REZANT', (row) => {
    const from = row('REZANT');
    return row('MTART') === 'ROH' && /^\d{1,2}$/.test(from) ? String(Number(from) + 1) : null;
  });
}

/**
 * Corrects the first line of a bill of materials that names no product: the line gets the product of the line before.
 */
export function fixBomLine(folder: string): Promise<ChangedValue | null> {
  let before = { list: '', product: '' };
  return changeCell(folder, 'bom.csv', 'MATNR', (row) => {
    const product = row('MATNR');
    const list = row('STLNR');
    if (product === '' && list === before.list) return before.product;
    before = { list, product };
    return null;
  });
}

/** Changes one cell in the first row for which `change` gives a value. */
async function changeCell(
  folder: string,
  name: string,
  column: string,
  change: (row: (column: string) => string) => string | null,
): Promise<ChangedValue | null> {
  const file = join(folder, 'exports', name);
  // In Latin-1 every byte is one character, so the file is written back unchanged in any encoding.
  const lines = (await readFile(file, 'latin1')).split('\n');
  const columns = (lines[0] ?? '').trimEnd().split(';');
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.includes('"')) continue;
    const cells = line.split(';');
    const row = (wanted: string): string => cells[columns.indexOf(wanted)] ?? '';
    const to = change(row);
    if (to === null) continue;
    const [from, key, text] = [row(column), row('IDNRK') || row('MATNR'), row('KTEXT') || row('MAKTX')];
    cells[columns.indexOf(column)] = to;
    lines[index] = cells.join(';');
    // A new file is written and renamed, so that no reader finds an incomplete file.
    await rm(`${file}.part`, { force: true });
    await writeFile(`${file}.part`, lines.join('\n'), { encoding: 'latin1', flag: 'wx' });
    await rename(`${file}.part`, file);
    const shown = new TextDecoder('windows-1252').decode(Buffer.from(text, 'latin1'));
    return { file: name, line: index + 1, column, from, to, key, name: shown };
  }
  return null;
}
