import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import { makeFolderSync } from '../../lib/files/make-folder.ts';

/** npm does not pack a `.gitignore`, so the template has this file under another name. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

/**
 * Writes the files of the connector template into a folder that is new or empty, and links this program into its
 * `node_modules`, so that its tests run before anything is installed.
 *
 * @throws Fault `usage` if the folder has files in it or cannot be written
 */
export function writeTemplate({
  folder,
  root,
  values,
}: {
  folder: string;
  /** The folder of this program's package. */
  root: string;
  /** The text that replaces `{{name}}` in the files. */
  values: Readonly<Record<string, string>>;
}): { files: string[]; isLinked: boolean } {
  const template = join(root, 'config', 'connector-template');
  const names = readdirSync(template, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(template.length + 1))
    .toSorted();
  assertEmpty(folder);
  try {
    const files = names.map((name) => {
      const text = readFileSync(join(template, name), 'utf8');
      const to = RENAMED[name] ?? name;
      makeFolderSync(dirname(join(folder, to)));
      // `wx` never replaces a file: one that has appeared meanwhile belongs to another process or person.
      writeFileSync(join(folder, to), withValues(text, values), { flag: 'wx' });
      return to;
    });
    return { files, isLinked: link(folder, root) };
  } catch (error) {
    throw unwritable(folder, error);
  }
}

function withValues(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
}

function assertEmpty(folder: string): void {
  let found: string[];
  try {
    found = readdirSync(folder);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return;
    throw unwritable(folder, error);
  }
  if (found.length === 0) return;
  throw fault('usage', `The folder ${folder} is not empty.`, { suggestion: 'Name a new folder with --dir.' });
}

function unwritable(folder: string, error: unknown): Error {
  return fault('usage', `The folder ${folder} cannot be written: ${fileReasonOf(error)}.`, {
    suggestion: 'Name another folder with --dir.',
    cause: error,
  });
}

/** Links this program into the folder. Returns false if the disk has no links. */
function link(folder: string, root: string): boolean {
  const modules = join(folder, 'node_modules');
  try {
    makeFolderSync(modules);
    symlinkSync(root, join(modules, 'dpp-sync'), 'junction');
    return true;
  } catch {
    return false;
  }
}
