import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';
import { REC20_CODES, REC21_CODES } from './unit-codes.ts';

/** Other names of the units, by code. Case, accents, dots and blanks do not matter. */
export const UNIT_ALIASES: Record<string, string> = {
  C62: 'st, stk, stck, stück, stücke, stueck, pc, pcs, pce, pces, piece, pieces, pièce, pièces, unit, units, unité, unités, unite, einheit, nos, one',
  EA: 'each, ea',
  PR: 'paa, paar, pair, pairs, paire, paires, pr',
  SET: 'set, sets, satz, sätze, jeu, kit set',
  DZN: 'dz, dozen, dozens, dutzend, douzaine, dzn',
  GRO: 'gross, gros, gro',
  KGM: 'kg, kgs, kilo, kilos, kilogram, kilograms, kilogramm, kilogramme, kilogrammes',
  GRM: 'g, gram, grams, gramm, gramme, grammes',
  MGM: 'mg, milligram, milligrams, milligramm, milligramme',
  TNE: 't, to, tonne, tonnes, tonnen, metric ton, metric tons, metrische tonne',
  LBR: 'lb, lbs, pound, pounds',
  ONZ: 'oz, ounce, ounces',
  MTR: 'm, meter, meters, metre, metres, mètre, mètres, laufmeter, laufende meter, lfm, lfd m',
  DMT: 'dm, decimeter, decimetre, dezimeter, décimètre',
  CMT: 'cm, centimeter, centimeters, centimetre, zentimeter, centimètre',
  MMT: 'mm, millimeter, millimeters, millimetre, millimètre',
  KMT: 'km, kilometer, kilometers, kilometre, kilomètre',
  '4H': 'µm, um, micrometer, micrometre, mikrometer, micromètre',
  INH: 'in, inch, inches, zoll, pouce',
  FOT: 'ft, foot, feet, fuss, fuß',
  YRD: 'yd, yard, yards',
  MTK: 'm2, qm, sqm, square meter, square meters, square metre, quadratmeter, mètre carré',
  CMK: 'cm2, qcm, square centimeter, square centimetre, quadratzentimeter, centimètre carré',
  MMK: 'mm2, qmm, square millimeter, square millimetre, quadratmillimeter, millimètre carré',
  MTQ: 'm3, cbm, cubic meter, cubic meters, cubic metre, kubikmeter, mètre cube',
  DMQ: 'dm3, cdm, cubic decimeter, cubic decimetre, kubikdezimeter, décimètre cube',
  CMQ: 'cm3, ccm, cubic centimeter, cubic centimetre, kubikzentimeter, centimètre cube',
  MMQ: 'mm3, cubic millimeter, cubic millimetre, kubikmillimeter',
  LTR: 'l, ltr, liter, liters, litre, litres',
  DLT: 'dl, deciliter, decilitre, deziliter, décilitre',
  CLT: 'cl, centiliter, centilitre, zentiliter',
  MLT: 'ml, milliliter, milliliters, millilitre',
  HLT: 'hl, hectoliter, hectolitre, hektoliter',
  SEC: 's, sec, second, seconds, sekunde, sekunden, seconde',
  MIN: 'min, minute, minutes, minuten',
  HUR: 'h, hr, hour, hours, stunde, stunden, std, heure, heures',
  DAY: 'd, day, days, tag, tage, jour, jours',
  WTT: 'w, watt, watts',
  KWT: 'kw, kilowatt',
  VLT: 'v, volt, volts',
  AMP: 'a, ampere, amperes, ampère',
  WHR: 'wh, watt hour, wattstunde',
  KWH: 'kwh, kilowatt hour, kilowattstunde',
  AMH: 'ah, ampere hour, amperestunde',
  HTZ: 'hz, hertz',
  P1: '%, percent, prozent, pourcent',
  LEF: 'leaf, leaves, blatt',
  XBX: 'box, boxes, bx, schachtel, boîte',
  XCT: 'kar, karton, kartons, carton, cartons, ctn',
  XBG: 'bag, bags, beutel, sac',
  XBO: 'bottle, bottles, flasche, flaschen, bouteille, fl',
  XCA: 'can, cans, dose, dosen',
  XPK: 'pak, pack, packs, packung, package, pkg, paquet',
  XPX: 'pallet, pallets, palette, paletten',
  XRO: 'rol, roll, rolls, rolle, rollen, rouleau',
  XCS: 'case, cases, cs',
};

/**
 * Names that mean different units in different systems, so their meaning is never guessed. They have the form that
 * `unit` compares.
 */
const AMBIGUOUS_UNITS: Record<string, string> = {
  PAL: 'a pallet (XPX) or a pascal (PAL)',
  TON: 'a metric ton (TNE), a short ton (STN) or a long ton (LTN)',
  TONS: 'metric tons (TNE), short tons (STN) or long tons (LTN)',
  MT: 'a metric ton (TNE) or a metre (MTR)',
  GAL: 'a US gallon (GLL) or a British one (GLI)',
  GALLON: 'a US gallon (GLL) or a British one (GLI)',
  GR: 'a gram (GRM), a grain (GRN) or a gross (GRO)',
  CT: 'a carton (XCT), a carat (CTM) or a hundred (CEN)',
  'FL OZ': 'a US fluid ounce (OZA) or a British one (OZI)',
};

const CODES: ReadonlySet<string> = new Set([...words(REC20_CODES), ...words(REC21_CODES)]);

const UNITS: ReadonlyMap<string, string> = new Map([
  ...[...CODES].map((code) => [code, code] as const),
  ...Object.entries(UNIT_ALIASES).flatMap(([code, aliases]) =>
    aliases.split(',').map((alias) => [normalize(alias), code] as const),
  ),
]);

/** The names of units that only one source uses, in the form that `normalize` gives, with their codes. */
export type UnitTable = ReadonlyMap<string, string>;

/** Makes the unit table of a source from the names that its config has. */
export function unitTable(units: Readonly<Record<string, string>>): UnitTable {
  return new Map(Object.entries(units).map(([name, code]) => [normalize(name), code.toUpperCase()]));
}

/** True for a code of UNECE Recommendation 20 or 21. */
export function isUnitCode(code: string): boolean {
  return CODES.has(code.toUpperCase());
}

/**
 * The UNECE Recommendation 20 code of a unit. The unit may be a name in the table of the source, a code of SAP or
 * Akeneo, a word in English, German or French, or the code itself. If a code of an ERP is also a code of Recommendation
 * 20, the ERP's meaning is used: `ST` is a piece (`C62`), not a sheet.
 *
 * @returns null for an empty value
 * @throws MappingError with code `unit.unknown` or `unit.ambiguous`
 */
export function unit(value: unknown, table?: UnitTable): string | null {
  const text = argumentText('unit', value);
  if (text === null) return null;
  const name = normalize(text);
  const own = table?.get(name);
  if (own !== undefined) return own;
  const meanings = Object.hasOwn(AMBIGUOUS_UNITS, name) ? AMBIGUOUS_UNITS[name] : undefined;
  if (meanings !== undefined) {
    throw new MappingError(
      'unit.ambiguous',
      `The unit "${shown(text)}" can mean ${meanings}.`,
      `Name the right unit in the source's table of units, for example units: { ${JSON.stringify(shown(text))}: ${/\((\w+)\)/.exec(meanings)?.[1]} }.`,
    );
  }
  const code = UNITS.get(name);
  if (code !== undefined) return code;
  throw new MappingError(
    'unit.unknown',
    `The unit "${shown(text)}" is not known.`,
    `Add it to the source's table of units, for example units: { ${JSON.stringify(shown(text))}: C62 }, or write a UNECE Rec 20 code in the source.`,
  );
}

/** Upper case, without accents, dots and superfluous blanks; `m²` becomes `M2`. */
function normalize(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}.^]/gu, '')
    .toUpperCase()
    .replace(/[\s_-]+/g, ' ')
    .trim();
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
