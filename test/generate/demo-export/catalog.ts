import { materialNumber } from './format.ts';

/** SAP material types: finished good, assembly, raw material, packaging, service. */
type PartType = 'FERT' | 'HALB' | 'ROH' | 'VERP' | 'DIEN';

/** SAP units of measure, as the export writes them. */
export type SapUnit = 'ST' | 'KG' | 'G' | 'M' | 'M2' | 'L' | 'PAK' | 'LE';

export interface Constituent {
  name: string;
  /** Empty if the substance has no CAS number. */
  cas: string;
  percent: number;
}

/** Anything that has a material number. */
export interface Part {
  /** The name of the part in this generator. */
  id: string;
  type: PartType;
  matnr: string;
  /** The number that people use: an article number, or for an assembly the number of its drawing. */
  article: string;
  name: string;
  text: string;
  group: string;
  unit: SapUnit;
  /** The country of origin as a person has typed it. */
  origin: string;
  /** The mass of one unit. */
  massKg: number;
  priceEuro: number;
  lines: Line[];
  /** Only raw materials have this. */
  make?: {
    recycledPercent: number | null;
    hazardous: boolean;
    coldestCelsius: number | null;
    constituents: Constituent[];
  };
}

/** A line of a bill of materials. */
export interface Line {
  part: Part;
  quantity: number;
}

/** The input for a part. Mass and price of a part with lines are computed from its lines. */
type NewPart = Pick<Part, 'id' | 'type' | 'name'> &
  Partial<Omit<Part, 'matnr' | 'lines'>> & { lines?: readonly (readonly [id: string, quantity: number])[] };

/** Collects parts bottom-up: a part can list only parts that were added before it, so no bill of materials has a cycle. */
export interface Catalog {
  add(part: NewPart): Part;
  part(id: string): Part;
  parts(): Part[];
}

const FIRST_NUMBER: Record<PartType, number> = {
  FERT: 10_001_004,
  HALB: 20_004_010,
  ROH: 30_000_107,
  VERP: 40_000_050,
  DIEN: 50_000_001,
};
const NUMBER_STEP = 7;
const MARKUP = 1.18;

export function createCatalog(): Catalog {
  const byId = new Map<string, Part>();
  const counts: Record<PartType, number> = { FERT: 0, HALB: 0, ROH: 0, VERP: 0, DIEN: 0 };
  const part = (id: string): Part => {
    const found = byId.get(id);
    if (!found) throw new Error(`There is no part "${id}" yet.`);
    return found;
  };
  return {
    part,
    parts: () => [...byId.values()],
    add(given) {
      if (byId.has(given.id)) throw new Error(`There is a part "${given.id}" already.`);
      const index = counts[given.type]++;
      const lines = (given.lines ?? []).map(([id, quantity]) => ({ part: part(id), quantity }));
      const sum = (of: (line: Line) => number) => lines.reduce((total, line) => total + of(line), 0);
      const added: Part = {
        article: `B-${4000 + index * 3}-0${1 + (index % 4)}`,
        text: '',
        group: 'Baugruppe',
        unit: 'ST',
        origin: 'DE',
        massKg: sum((line) => line.quantity * line.part.massKg),
        priceEuro: sum((line) => line.quantity * line.part.priceEuro) * MARKUP,
        ...given,
        matnr: materialNumber(FIRST_NUMBER[given.type] + index * NUMBER_STEP),
        lines,
      };
      byId.set(added.id, added);
      return added;
    },
  };
}
