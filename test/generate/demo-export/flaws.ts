import { ABSENT_COMPONENT, type BomColumn, type ProductColumn, type Tables } from './rows.ts';
import type { Row } from './table.ts';

export type FileName = 'products.csv' | 'materials.csv' | 'bom.csv';

/** A row with a mistake that rows of real exports have too. */
export interface Flaw {
  /** The name of the flaw in the table of config/demo/README.md. */
  id: string;
  file: FileName;
  row: Row<string>;
}

/** Puts each kind of mistake into about one row. The mistakes are in accessories, so that the devices stay complete. */
export function addFlaws(tables: Tables): Flaw[] {
  return [...spoilProducts(tables), ...spoilMaterials(tables), ...spoilBom(tables)];
}

function spoilProducts({ products }: Tables): Flaw[] {
  const article = (ARTNR: string) => find(products.rows, { ARTNR });
  const copy = (ARTNR: string, changes: Partial<Record<ProductColumn, string>>) => {
    const row = article(ARTNR);
    const second = { cells: { ...row.cells, ...changes } };
    products.rows.splice(products.rows.indexOf(row) + 1, 0, second);
    return second;
  };
  const gtin = article('FIL-350-G4').cells.EAN11;
  const wrongDigit = (Number(gtin.at(-1)) + 1) % 10;
  const rows: Record<string, Row<string>> = {
    'extra-separator': Object.assign(article('WEH-40'), { unquoted: true }),
    'country-eu': change(article('GIT-200'), { HERKL: 'EU' }),
    'name-empty': change(article('BOG-250'), { MAKTX: '' }),
    'status-unknown': change(article('SD-315-12'), { MMSTA: '77' }),
    'gtin-check-digit': change(article('FIL-350-G4'), { EAN11: `${gtin.slice(0, -1)}${wrongDigit}` }),
    'gtin-excel': change(article('FIL-450-F7'), { EAN11: '9,52E+12' }),
    'undefined-byte': change(article('VEN-160'), { MAKTX: 'Tellerventil\u0081DN 160' }),
    'duplicate-differs': copy('ROH-125', { MAKTX: 'Wickelfalzrohr DN 125 L=3m (ALT)', LAEDA: '20170302' }),
    'duplicate-same': copy('ROH-160', {}),
  };
  return flaws('products.csv', rows);
}

function spoilMaterials({ materials }: Tables): Flaw[] {
  const sensor = find(materials.rows, { MAKTX: 'CO2-Sensorelement, NDIR' });
  return flaws('materials.csv', { 'country-xx': change(sensor, { HERKL: 'XX' }) });
}

function spoilBom({ products, materials, bom }: Tables): Flaw[] {
  const article = (ARTNR: string) => find(products.rows, { ARTNR }).cells;
  const line = (ARTNR: string, KTEXT: string) => find(bom.rows, { MATNR: article(ARTNR).MATNR, KTEXT });
  const append = (ARTNR: string, changes: Partial<Record<BomColumn, string>>) => {
    const { MATNR } = article(ARTNR);
    const last = bom.rows.findLastIndex(({ cells }) => cells.MATNR === MATNR);
    const before = bom.rows[last];
    if (!before) throw new Error(`The article "${ARTNR}" has no lines.`);
    const POSNR = String(Number(before.cells.POSNR) + 10).padStart(4, '0');
    const row = { cells: { ...before.cells, POSNR, ...changes } };
    bom.rows.splice(last + 1, 0, row);
    return row;
  };
  const component = (ARTNR: string) => {
    const { MATNR, MTART, MAKTX, NTGEW, GEWEI, STPRS } = article(ARTNR);
    return { IDNRK: MATNR, KMTART: MTART, KTEXT: MAKTX, MENGE: '1,000', MEINS: 'ST', GEWICHT: NTGEW, GEWEI, STPRS };
  };
  const sheet = find(materials.rows, { MAKTX: 'Feinblech DX51D+Z275 0,7 mm' }).cells;
  const discontinued = article('ERS-LP1');
  Object.assign(discontinued, { MMSTA: '90', AUSLD: '20240630' });
  const rows: Record<string, Row<string>> = {
    'unit-unknown': change(line('BED-03', 'Beutel Befestigungsmaterial „Wand“'), { MEINS: 'KARTN' }),
    'quantity-negative': append('SD-315-09', {
      IDNRK: sheet.MATNR,
      KMTART: 'ROH',
      KTEXT: 'Verschnitt; "Rückführung"',
      MENGE: '1.250,00-',
      MEINS: 'G',
      GEWICHT: '1.250,0-',
      GEWEI: 'G',
      STPRS: '1,18-',
    }),
    'quantity-excel': change(line('FRO-12', 'Wärmeträger Propylenglykol 40 %'), { MENGE: '12. Mai' }),
    'component-missing': append('ERS-SIP', {
      IDNRK: ABSENT_COMPONENT,
      KMTART: 'HALB',
      KTEXT: 'Verschraubung 1¼"',
      MENGE: '1,000',
      MEINS: 'ST',
      GEWICHT: '38,0',
      GEWEI: 'G',
      STPRS: '0,92',
    }),
    'parent-missing': append('ERS-ANO', {
      MATNR: '',
      IDNRK: sheet.MATNR,
      KMTART: 'ROH',
      KTEXT: sheet.MAKTX,
      MENGE: '0,050',
      MEINS: 'KG',
      GEWICHT: '50,0',
      GEWEI: 'G',
      STPRS: '0,05',
    }),
    'parent-discontinued': find(bom.rows, { MATNR: discontinued.MATNR }),
    'contains-itself': append('ERS-NT1', component('ERS-NT1')),
    'contains-its-parent': append('BED-04', component('BED-02')),
  };
  append('BED-02', component('BED-04'));
  return flaws('bom.csv', rows);
}

function flaws(file: FileName, rows: Record<string, Row<string>>): Flaw[] {
  return Object.entries(rows).map(([id, row]) => ({ id, file, row }));
}

/** The first row that has these cells. */
function find<Column extends string>(rows: Row<Column>[], cells: Partial<Record<Column, string>>): Row<Column> {
  const wanted = Object.entries(cells) as [Column, string][];
  const found = rows.find((row) => wanted.every(([column, text]) => row.cells[column] === text));
  if (!found) throw new Error(`No row of the export has ${JSON.stringify(cells)}.`);
  return found;
}

function change<Column extends string>(row: Row<Column>, cells: Partial<Record<Column, string>>): Row<Column> {
  Object.assign(row.cells, cells);
  return row;
}
