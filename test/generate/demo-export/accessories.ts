import { CENTRAL_SIZES, DUCT_SIZES, ROOM_SIZES } from './assemblies.ts';
import type { Catalog } from './catalog.ts';

type Lines = (readonly [id: string, quantity: number])[];

/** Adds filters, duct parts, controls and spare parts, and services, which are in the same article master. */
export function addAccessories(catalog: Catalog): void {
  const sell = (article: string, group: string, name: string, lines: Lines, text = '') =>
    catalog.add({ id: article, type: 'FERT', article, group, name, text, lines: [...lines, ['karton-s', 1]] });

  for (const size of CENTRAL_SIZES) {
    sell(`FIL-${size}-G4`, 'Filter', `Filterset G4 TWZ ${size}`, [[`grob-${size}`, 2]]);
    sell(`FIL-${size}-F7`, 'Filter', `Filterset F7/G4 TWZ ${size}`, [
      [`filter-${size}`, 1],
      [`grob-${size}`, 1],
    ]);
    sell(`FIL-${size}-AK`, 'Filter', `Aktivkohlefilter TWZ ${size}`, [
      ['kohle', size / 500],
      ['pp', 0.18],
      ['vliesg4', 0.1],
    ]);
    sell(`ERS-${size}-VZ`, 'Ersatzteil', `Ersatzventilator Zuluft TWZ ${size}`, [
      [`zuluft-${size}`, 1],
      ['beutel', 1],
    ]);
    sell(`ERS-${size}-VA`, 'Ersatzteil', `Ersatzventilator Abluft TWZ ${size}`, [
      [`abluft-${size}`, 1],
      ['beutel', 1],
    ]);
  }
  for (const size of ROOM_SIZES) {
    sell(`FIL-D${size}`, 'Filter', `Staubfilter TWD ${size}, 5 Stück`, [['vliesg4', 0.2]]);
    sell(`ERS-D${size}`, 'Ersatzteil', `Ersatzventilator TWD ${size}`, [[`axial-${size}`, 1]]);
    sell(`WEH-${size}`, 'Zubehör', `Wetterschutzhaube TWD ${size}; Edelstahl`, [
      ['va06', 0.9],
      ['epdm', 0.7],
      ['beutel', 1],
    ]);
  }
  for (const size of DUCT_SIZES) {
    sell(`ROH-${size}`, 'Kanal', `Wickelfalzrohr DN ${size}, 3 m`, [['wickel', 0.023 * size]]);
    sell(`BOG-${size}`, 'Kanal', `Bogen 90° DN ${size}`, [
      ['blech07', 0.006 * size],
      ['epdm', 0.0063 * size],
    ]);
    sell(`SD-${size}-09`, 'Kanal', `Schalldämpfer DN ${size}, 0,9 m`, [
      ['wickel', 0.014 * size],
      ['wolle', 0.9],
      ['blech07', 1.2],
    ]);
    sell(`SD-${size}-12`, 'Kanal', `Schalldämpfer DN ${size}, 1,2 m`, [
      ['wickel', 0.018 * size],
      ['wolle', 1.2],
      ['blech07', 1.4],
    ]);
    sell(`GIT-${size}`, 'Kanal', `Außengitter DN ${size}`, [
      ['al10', 0.003 * size],
      ['vadraht', 2.4],
      ['blechschr', 4],
    ]);
    sell(`VEN-${size}`, 'Kanal', `Tellerventil DN ${size}`, [
      ['absw', 0.001 * size],
      ['m4', 1],
      ['epdm', 0.0063 * size],
    ]);
  }
  sell('BED-01', 'Regelung', 'Bediengerät "Basis", Aufputz', [
    ['lp-anzeige', 1],
    ['pcabs', 0.09],
    ['litze', 0.3],
  ]);
  sell('BED-02', 'Regelung', 'Bediengerät "Komfort", Unterputz', [
    ['lp-anzeige', 1],
    ['fühler-feuchte', 1],
    ['pcabs', 0.11],
  ]);
  sell('BED-03', 'Regelung', 'CO2-Raumfühler', [
    ['fühler-co2', 1],
    ['pcabs', 0.05],
    ['beutel', 1],
  ]);
  sell('BED-04', 'Regelung', 'Feuchte-Raumfühler', [
    ['fühler-feuchte', 1],
    ['pcabs', 0.05],
    ['beutel', 1],
  ]);
  sell('BED-05', 'Regelung', 'Außenfühler, –40 bis +80 °C', [
    ['fühler-temp', 1],
    ['pa66', 0.04],
    ['oring', 1],
  ]);
  sell('ERS-LP1', 'Ersatzteil', 'Ersatzplatine Hauptregler', [['lp-regler', 1]]);
  sell('ERS-NT1', 'Ersatzteil', 'Ersatznetzteil 24 V', [['netzteil', 1]]);
  sell('ERS-SIP', 'Ersatzteil', 'Trockensiphon, Ersatz', [['siphon', 1]]);
  sell('ERS-ANO', 'Ersatzteil', 'Magnesiumanode, Ersatz', [
    ['anode', 1],
    ['oring', 1],
  ]);
  sell('FRO-12', 'Zubehör', 'Wärmeträger, Kanister 12,5 l', [
    ['sole', 12.5],
    ['pp', 0.4],
  ]);

  for (const [article, name, priceEuro] of SERVICES) {
    catalog.add({
      id: article,
      type: 'DIEN',
      article,
      group: 'Dienstleistung',
      name,
      unit: 'LE',
      massKg: 0,
      priceEuro,
    });
  }
}

const SERVICES = [
  ['DL-IBN', 'Inbetriebnahme Wärmepumpe', 290],
  ['DL-EIN', 'Einregulierung Lüftungsanlage', 180],
  ['DL-WAR', 'Wartung, jährlich', 149],
  ['DL-PLA', 'Planungsleistung je Stunde', 95],
] as const;
