import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeWhere } from '../runner/describe-where.ts';

/** Exports of real systems, with their faults. The files are beside the repository and are read there. */
const REAL_EXPORTS = resolve(import.meta.dirname, '../../../../shared/data');

/** A `describe` over one folder of real exports, which is skipped if the folder is not there. */
export function describeRealExport(folder: string, name: string, body: (path: string) => void): void {
  const path = join(REAL_EXPORTS, folder);
  const describeThere = describeWhere({
    isThere: existsSync(path),
    what: `the real exports in ../shared/data/${folder}`,
  });
  describeThere(name, () => body(path));
}
