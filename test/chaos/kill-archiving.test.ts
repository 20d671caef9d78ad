// A process is killed under strace while it archives files, at each call that changes the disk.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/connectors/connector-reader.ts';
import { describeStrace, runTraced } from './support/strace.ts';

const CHILD = join(import.meta.dirname, 'support/archive-kill-child.ts');
const NAMES = ['a', 'b', 'c'];

/** The content of each file in a folder, without semaphores and without files that only reserve a name. */
function contentsOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => !name.endsWith('.done') && !name.endsWith('.part'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .filter((content) => content !== '');
}

describeStrace('a run that is killed while it archives', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'an archiving run killed at fsync %i loses no file, and the next ends it',
    async (when) => {
      await using folder = await temporaryFolder();
      await mkdir(join(folder.path, 'in'));
      for (const name of NAMES) {
        await writeFile(join(folder.path, 'in', `${name}.csv`), `id\n${name}\n`);
        await writeFile(join(folder.path, 'in', `${name}.csv.done`), '');
      }
      const expected = NAMES.map((name) => `id\n${name}\n`);
      const paths = [join(folder.path, 'read')];
      const killed = await runTraced([CHILD, folder.path], {
        paths,
        inject: [{ call: 'fsync', when, effect: 'SIGKILL' }],
      });
      expect(killed).toMatchObject({ signal: 'SIGKILL' });
      const left = [...contentsOf(join(folder.path, 'in')), ...contentsOf(join(folder.path, 'read'))];
      expect([...new Set(left)].toSorted()).toEqual(expected);

      const next = await runTraced([CHILD, folder.path], { paths });
      expect(next).toMatchObject({ exitCode: 0, stderr: '' });
      expect([...new Set(contentsOf(join(folder.path, 'read')))].toSorted()).toEqual(expected);
      expect(contentsOf(join(folder.path, 'in'))).toEqual([]);
    },
  );
});
