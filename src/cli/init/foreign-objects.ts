// Finds files of a folder whose object is something else than those of the others, such as settings among products.

import type { JsonObject } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import type { Sample } from './read-sample.ts';

/** Of fewer objects, none is like most of the others. */
const OBJECTS_MIN = 3;
const SHOWN_MAX = 5;

/** The sample without the objects that have no member which most of the others have, and a hint that names their files. */
export function withoutForeign(sample: Sample): { sample: Sample; hints: string[] } {
  const { rows, lines, files } = sample;
  const common = commonNames(rows);
  const isOwn = rows.map((row) => common.length === 0 || common.some((name) => Object.hasOwn(row, name)));
  const foreign = files.filter((_, at) => isOwn[at] === false);
  if (foreign.length === 0) return { sample, hints: [] };
  const own = <T>(all: readonly T[]): T[] => all.filter((_, at) => isOwn[at] === true);
  const names = foreign.slice(0, SHOWN_MAX).join(', ');
  const more = foreign.length > SHOWN_MAX ? ` and ${counted(foreign.length - SHOWN_MAX, 'further file')}` : '';
  const members = common.slice(0, SHOWN_MAX).join(', ');
  return {
    sample: { ...sample, rows: own(rows), lines: own(lines), files: own(files) },
    hints: [
      `${names}${more}: nothing of what the other files have (${members}), so a run quarantines what is in there. Move it to another folder.`,
    ],
  };
}

/** The names that more than half of the objects have. */
function commonNames(rows: readonly JsonObject[]): string[] {
  if (rows.length < OBJECTS_MIN) return [];
  const counts = new Map<string, number>();
  for (const name of rows.flatMap((row) => Object.keys(row))) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].flatMap(([name, count]) => (count > rows.length / 2 ? [name] : []));
}
