/**
 * Codes of UNECE Recommendation 20 (and of Recommendation 21 with its prefix X for packages) that occur in product
 * master data. Not the whole list of some two thousand: a rare code is an issue, and easily added here.
 */
export const REC20_CODES = `
  C62 H87 EA PR SET DZN DZP GRO CEN MIL NAR NMP NPR KT ST LEF PT TP
  KGM GRM MGM MC DTN TNE DJ HGM LBR ONZ STN LTN APZ CTM GRN KTN
  MTR DMT CMT MMT KMT 4H C45 INH FOT YRD SMI NMI LM
  MTK DMK CMK MMK KMK HAR ARE INK FTK YDK
  MTQ DMQ CMQ MMQ INQ FTQ YDQ
  LTR DLT CLT MLT HLT 4G GLL GLI PTI PTL QT QTI QTL OZA OZI BLL
  SEC MIN HUR DAY WEE MON ANN C26
  WTT KWT MAW D46 VLT KVT AMP 4K OHM FAR H34 HTZ KHZ MHZ KVA AMH
  JOU KJO 3B WHR KWH MWH KJ CEL FAH KEL PAL BAR MBR KPA MPA NEW KNM LUM LUX CDL DD
  P1 P2 59 60 61 GL GP GM KMQ 23 E34 AD 4L 2P
  XBX XCT XBG XBO XCA XPK XPA XPX XRO XRL XCR XCS XDR XTU XBA XCN XPP XJR XSA XTN XBJ XEA XPU XTY XBE
`;

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

/** Names that mean different things in different systems: never guessed. Written as `unit` normalises them. */
export const AMBIGUOUS_UNITS: Record<string, string> = {
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
