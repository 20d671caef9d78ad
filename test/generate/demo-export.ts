import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addAccessories } from './demo-export/accessories.ts';
import { addAssemblies } from './demo-export/assemblies.ts';
import { createCatalog } from './demo-export/catalog.ts';
import { addDevices } from './demo-export/devices.ts';
import { addFlaws, type FileName } from './demo-export/flaws.ts';
import { addMaterials } from './demo-export/materials.ts';
import { tablesOf } from './demo-export/rows.ts';
import { encodeTable } from './demo-export/table.ts';

/** A row that is wrong on purpose, and its place in the files. */
interface PlacedFlaw {
  id: string;
  file: FileName;
  /** The number of the line on which the row begins, counted from 1. */
  line: number;
}

export interface DemoExport {
  files: Map<FileName, Buffer>;
  flaws: PlacedFlaw[];
  /** Rows of each file, without the header. */
  rowCounts: Map<FileName, number>;
}

/**
 * The nightly export of Tannwerk Lufttechnik GmbH, an invented maker of ventilation units and heat pumps. It has the same
 * bytes on every machine, because nothing in it depends on the clock, the locale or chance.
 */
export function demoExport(): DemoExport {
  const catalog = createCatalog();
  addMaterials(catalog);
  addAssemblies(catalog);
  addDevices(catalog);
  addAccessories(catalog);
  const tables = tablesOf(catalog);
  const flaws = addFlaws(tables);

  const encoded = {
    'products.csv': encodeTable<string>(tables.products),
    'materials.csv': encodeTable<string>(tables.materials),
    'bom.csv': encodeTable<string>(tables.bom),
  } as const;
  const names = Object.keys(encoded) as FileName[];
  return {
    files: new Map(names.map((name) => [name, encoded[name].bytes])),
    flaws: flaws.map(({ id, file, row }) => ({ id, file, line: encoded[file].lines.get(row) ?? 0 })),
    rowCounts: new Map(names.map((name) => [name, encoded[name].lines.size])),
  };
}

/** Writes the files of the export into a folder. Makes the folder if it does not exist. */
export async function writeDemoExport(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of demoExport().files) await writeFile(join(folder, name), bytes);
}
