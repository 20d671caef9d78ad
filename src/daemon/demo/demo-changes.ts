// The changes that the demo makes in its export, like changes that people in a factory might make. All other bytes of
// the file stay the same.

import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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
