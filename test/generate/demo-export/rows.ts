import type { Catalog, Constituent, Line, Part } from './catalog.ts';
import { exampleGtin, germanDecimal, germanNumber, materialNumber, sapDate } from './format.ts';
import { createRandom } from './random.ts';
import type { Row, Table } from './table.ts';

const PRODUCT_COLUMNS = [
  'MATNR',
  'ARTNR',
  'MTART',
  'MATKL',
  'MAKTX',
  'LTEXT',
  'MMSTA',
  'HERKL',
  'EAN11',
  'MEINS',
  'NTGEW',
  'GEWEI',
  'ERSDA',
  'LAEDA',
  'AUSLD',
  'STPRS',
  'WAERS',
] as const;

const MATERIAL_COLUMNS = [
  'MATNR',
  'MTART',
  'MAKTX',
  'MATKL',
  'MEINS',
  'HERKL',
  'GEFKZ',
  'REZANT',
  'TMIN',
  'STOFF1',
  'CAS1',
  'ANT1',
  'STOFF2',
  'CAS2',
  'ANT2',
  'STOFF3',
  'CAS3',
  'ANT3',
  'STOFF4',
  'CAS4',
  'ANT4',
  'STOFF5',
  'CAS5',
  'ANT5',
  'LAEDA',
  'STPRS',
  'WAERS',
] as const;

const BOM_COLUMNS = [
  'STLNR',
  'MATNR',
  'POSNR',
  'IDNRK',
  'KMTART',
  'KTEXT',
  'MENGE',
  'MEINS',
  'GEWICHT',
  'GEWEI',
  'DATUV',
  'DATUB',
  'STPRS',
  'WAERS',
] as const;

export type ProductColumn = (typeof PRODUCT_COLUMNS)[number];
type MaterialColumn = (typeof MATERIAL_COLUMNS)[number];
export type BomColumn = (typeof BOM_COLUMNS)[number];

export interface Tables {
  products: Table<ProductColumn>;
  materials: Table<MaterialColumn>;
  bom: Table<BomColumn>;
}

/** The tables without mistakes. */
export function tablesOf(catalog: Catalog): Tables {
  const parts = catalog.parts();
  const of = (...types: Part['type'][]) => types.flatMap((type) => parts.filter((part) => part.type === type));
  const parents = of('FERT', 'HALB').filter((part) => part.lines.length > 0);
  return {
    products: { columns: PRODUCT_COLUMNS, rows: of('FERT', 'HALB', 'DIEN').map(productRow) },
    materials: { columns: MATERIAL_COLUMNS, rows: of('ROH', 'VERP').map(materialRow) },
    bom: { columns: BOM_COLUMNS, rows: parents.flatMap((parent, index) => bomRows(parent, index)) },
  };
}

function productRow(part: Part, index: number): Row<ProductColumn> {
  const random = createRandom(part.id);
  const created = { year: random.between(2014, 2024), month: random.between(1, 12), day: random.between(1, 28) };
  const status =
    part.type === 'FERT' ? random.pick(['20', '20', '20', '20', '20', '20', '20', '30', '30', '10']) : '20';
  return {
    cells: {
      MATNR: part.matnr,
      ARTNR: part.article,
      MTART: part.type,
      MATKL: part.group,
      MAKTX: part.name,
      LTEXT: part.text,
      MMSTA: status,
      HERKL: part.group === 'Kanal' ? random.pick(['PL', 'CZ', 'DE']) : part.origin,
      EAN11: part.type === 'FERT' && part.group !== 'Ersatzteil' ? exampleGtin(1000 + index * 3) : '',
      MEINS: part.unit,
      ...weight(part.massKg, 'NTGEW'),
      ERSDA: sapDate(created),
      LAEDA: sapDate({ ...created, year: Math.min(2025, created.year + random.between(0, 4)) }),
      AUSLD: sapDate(status === '30' ? { year: 2027, month: random.pick([3, 6, 12]), day: 30 } : null),
      ...price(part.priceEuro),
    },
  };
}

function materialRow(part: Part): Row<MaterialColumn> {
  const random = createRandom(part.id);
  const { recycledPercent = null, hazardous = false, coldestCelsius = null, constituents = [] } = part.make ?? {};
  return {
    cells: {
      MATNR: part.matnr,
      MTART: part.type,
      MAKTX: part.name,
      MATKL: part.group,
      MEINS: part.unit,
      HERKL: part.origin,
      GEFKZ: hazardous ? 'X' : '',
      REZANT: recycledPercent === null ? '' : germanNumber(recycledPercent),
      TMIN: coldestCelsius === null ? '' : germanDecimal(coldestCelsius, 1),
      ...shareCells(constituents),
      LAEDA: sapDate({ year: random.between(2021, 2026), month: random.between(1, 10), day: random.between(1, 28) }),
      ...price(part.priceEuro),
    },
  };
}

const OPEN_END = '99991231';

type ShareColumn = `${'STOFF' | 'CAS' | 'ANT'}${1 | 2 | 3 | 4 | 5}`;

function shareCells(constituents: readonly Constituent[]): Record<ShareColumn, string> {
  const cells = [1, 2, 3, 4, 5].flatMap((place) => {
    const { name = '', cas = '', percent } = constituents[place - 1] ?? {};
    const share = percent === undefined ? '' : germanNumber(percent);
    return [
      [`STOFF${place}`, name],
      [`CAS${place}`, cas],
      [`ANT${place}`, share],
    ];
  });
  return Object.fromEntries(cells) as Record<ShareColumn, string>;
}

/** The lines of one parent. A few lines have a predecessor, which ended when the line began. */
function bomRows(parent: Part, index: number): Row<BomColumn>[] {
  const STLNR = String(12_001 + index).padStart(8, '0');
  return parent.lines.flatMap((line, at) => {
    const random = createRandom(`${parent.id}/${line.part.id}`);
    const position = (at + 1) * 10;
    const row = (place: number, quantity: number, from: string, to: string) =>
      bomRow({ STLNR, parent, line: { part: line.part, quantity }, place, from, to });
    const chance = random.next();
    const began = random.pick(['00000000', '20190101', '20210701', '20230401']);
    if (chance < 0.012) {
      const before = row(position - 5, line.quantity * 2, began, '20241231');
      return [before, row(position, line.quantity, '20250101', OPEN_END)];
    }
    return [row(position, line.quantity, began, chance < 0.022 ? '20271231' : OPEN_END)];
  });
}

interface BomPlace {
  STLNR: string;
  parent: Part;
  line: Line;
  place: number;
  from: string;
  to: string;
}

function bomRow({ STLNR, parent, line, place, from, to }: BomPlace): Row<BomColumn> {
  const { part, quantity } = line;
  return {
    cells: {
      STLNR,
      MATNR: parent.matnr,
      POSNR: String(place).padStart(4, '0'),
      IDNRK: part.matnr,
      KMTART: part.type,
      KTEXT: part.name,
      MENGE: germanDecimal(quantity, 3),
      MEINS: part.unit,
      ...weight(quantity * part.massKg, 'GEWICHT'),
      DATUV: from,
      DATUB: to,
      ...price(quantity * part.priceEuro),
    },
  };
}

/** A mass below 10 kg is given in grams. */
function weight<Column extends string>(massKg: number, column: Column): Record<Column | 'GEWEI', string> {
  const cells = massKg < 10 ? [germanDecimal(massKg * 1000, 1), 'G'] : [germanDecimal(massKg, 3), 'KG'];
  return { [column]: cells[0], GEWEI: cells[1] } as Record<Column | 'GEWEI', string>;
}

function price(euro: number): { STPRS: string; WAERS: string } {
  return { STPRS: germanDecimal(euro, 2), WAERS: 'EUR' };
}

/** A number in the range of the assemblies that the export has nowhere else. */
export const ABSENT_COMPONENT = materialNumber(20_099_999);
