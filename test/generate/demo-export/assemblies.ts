import type { Catalog } from './catalog.ts';
import { addElectronics, type Lines, type Make } from './electronics.ts';

/** Air flow in m³/h of the central ventilation units. */
export const CENTRAL_SIZES = [180, 250, 350, 450] as const;
/** Air flow in m³/h of the ventilation units for one room. */
export const ROOM_SIZES = [30, 40, 60] as const;
/** Heating power in kW of the heat pumps. */
export const HEAT_PUMP_SIZES = [5, 7, 9, 12] as const;
/** Content in litres of the hot water heat pumps. */
export const TANK_SIZES = [200, 260, 300] as const;
/** Nominal diameters in mm of duct fans and duct parts. */
export const DUCT_SIZES = [100, 125, 160, 200, 250, 315] as const;

const MOTOR_WATTS = [12, 28, 45, 70, 85, 120, 170, 250] as const;

/** Adds the assemblies that the company builds, smallest parts first, so that devices can share them. */
export function addAssemblies(catalog: Catalog): void {
  const make = (id: string, name: string, lines: Lines) => catalog.add({ id, type: 'HALB', name, lines });
  addElectronics(make);
  addMotors(make);
  addVentilation(make);
  addHeatPumpParts(make);
  addDuctFanParts(make);
}

function addMotors(make: Make): void {
  for (const watts of MOTOR_WATTS) {
    const wire = watts <= 45 ? 'lack28' : watts <= 120 ? 'lack40' : 'lack63';
    const board = watts <= 45 ? 'lp-motor-s' : watts <= 120 ? 'lp-motor-m' : 'lp-motor-l';
    const bearing = watts <= 70 ? 'lager608' : 'lager6201';
    const magnet = watts <= 28 ? 'ferrit' : 'ndfeb';
    make(`paket-${watts}`, `Blechpaket ${watts} W`, [
      ['elektro', round(0.12 + watts * 0.005)],
      ['pbt', round(0.01 + watts * 0.0002)],
    ]);
    make(`stator-${watts}`, `Stator gewickelt ${watts} W`, [
      [`paket-${watts}`, 1],
      [wire, round(0.04 + watts * 0.0022)],
      ['pet-isolierung', 1],
    ]);
    make(`rotor-${watts}`, `Rotor ${watts} W`, [
      [watts <= 70 ? 'rund8' : 'rund12', round(0.05 + watts * 0.0012)],
      [magnet, 20 + watts],
      ['epoxid', 2],
      ['al10', 0.03],
    ]);
    make(`motor-${watts}`, `EC-Motor ${watts} W`, [
      [`stator-${watts}`, 1],
      [`rotor-${watts}`, 1],
      [board, 1],
      [bearing, 2],
      ['aldruck', round(0.15 + watts * 0.004)],
      ['m4', 4],
      ['paste', 1.5],
    ]);
    make(`rad-${watts}`, `Laufrad Ø ${90 + Math.floor(watts / 2)} mm`, [
      [watts <= 45 ? 'ppgf' : 'pa6', round(0.07 + watts * 0.002)],
      ['rund8', 0.012],
    ]);
    make(`venti-${watts}`, `Radialventilator ${watts} W`, [
      [`motor-${watts}`, 1],
      [`rad-${watts}`, 1],
      ['pprc', round(0.25 + watts * 0.003)],
      ['puffer', 3],
      ['blechschr', 6],
    ]);
  }
}

function addVentilation(make: Make): void {
  make('bypass', 'Bypassklappe mit Stellantrieb', [
    ['motor-12', 1],
    ['ppgf', 0.31],
    ['tpe', 0.04],
    ['litze', 0.6],
    ['stecker4', 1],
  ]);
  make('siphon', 'Trockensiphon', [
    ['pp', 0.11],
    ['oring', 2],
    ['vadraht', 0.15],
  ]);
  for (const [index, size] of CENTRAL_SIZES.entries()) {
    const watts = MOTOR_WATTS[index + 3] ?? 250;
    make(`wt-${size}`, `Gegenstrom-Wärmetauscher ${size} m³/h`, [
      ['ps', round(size * 0.009)],
      ['alprofil', 1.6],
      ['dichtmasse', 0.12],
      ['melamin', 0.3],
    ]);
    make(`wte-${size}`, `Enthalpie-Wärmetauscher ${size} m³/h`, [
      ['membran', round(size * 0.04)],
      ['alprofil', 1.6],
      ['dichtmasse', 0.15],
      ['absa', 0.4],
    ]);
    make(`zuluft-${size}`, `Ventilatoreinheit Zuluft ${size} m³/h`, [
      [`venti-${watts}`, 1],
      ['epp', round(0.2 + size * 0.001)],
      ['fühler-temp', 1],
      ['kabel-d', 1],
      ['epdm', 1.1],
    ]);
    make(`abluft-${size}`, `Ventilatoreinheit Abluft ${size} m³/h`, [
      [`venti-${watts}`, 1],
      ['epp', round(0.2 + size * 0.001)],
      ['fühler-feuchte', 1],
      ['kabel-d', 1],
      ['epdm', 1.1],
    ]);
    make(`wanne-${size}`, `Kondensatwanne ${size} m³/h`, [
      ['pprc', round(0.3 + size * 0.001)],
      ['siphon', 1],
      ['silikon', 1.4],
    ]);
    make(`heiz-${size}`, `Vorheizregister ${size} m³/h`, [
      ['va08', round(0.2 + size * 0.001)],
      ['alrohr', 2.2],
      ['fühler-temp', 1],
      ['leitung', 0.8],
      ['relais', 1],
    ]);
    make(`filter-${size}`, `Filterkassette F7 ${size} m³/h`, [
      ['vliesf7', round(0.4 + size * 0.002)],
      ['pp', 0.18],
    ]);
    make(`grob-${size}`, `Filterkassette G4 ${size} m³/h`, [
      ['vliesg4', round(0.2 + size * 0.0005)],
      ['pp', 0.12],
    ]);
    for (const side of ['L', 'R']) {
      const lines: Lines = [
        ['blech09', round(6 + size * 0.03)],
        ['epp', round(2 + size * 0.008)],
        ['lack9016', round(0.3 + size * 0.0008)],
        ['epdm', 6.5],
        ['niet', 24],
        ['blechschr', 18],
      ];
      make(`geh-${size}${side}`, `Gehäuse ${size} m³/h, ${side === 'L' ? 'links' : 'rechts'}`, lines);
    }
  }
  for (const [index, size] of ROOM_SIZES.entries()) {
    const watts = MOTOR_WATTS[index] ?? 12;
    make(`keramik-${size}`, `Wärmespeicher Ø ${120 + index * 20} mm`, [
      ['keramik', round(1.8 + index * 0.7)],
      ['epp', 0.08],
    ]);
    make(`rohr-${size}`, `Einschubrohr Ø ${130 + index * 20} mm`, [
      ['pvc', round(0.9 + index * 0.3)],
      ['tpe', 0.05],
      ['melamin', 0.12],
    ]);
    make(`axial-${size}`, `Reversierventilator ${size} m³/h`, [
      [`motor-${watts}`, 1],
      ['absw', 0.12],
      ['puffer', 3],
      ['kabel-d', 1],
    ]);
    for (const finish of ['W', 'A', 'E']) {
      const shell: Lines =
        finish === 'E'
          ? [
              ['va08', 0.62],
              ['absa', 0.2],
            ]
          : [[finish === 'W' ? 'absw' : 'absa', 0.55]];
      const colour = { W: 'weiß', A: 'anthrazit', E: 'Edelstahl' }[finish] ?? finish;
      make(`blende-${size}${finish}`, `Innenblende ${size}, ${colour}`, [...shell, ['vliesg4', 0.03], ['epdm', 0.6]]);
    }
  }
}

function addHeatPumpParts(make: Make): void {
  for (const [index, size] of HEAT_PUMP_SIZES.entries()) {
    const fan = MOTOR_WATTS[index + 3] ?? 250;
    make(`verdampfer-${size}`, `Verdampfer ${size} kW`, [
      ['lamelle', 2 + size * 0.4],
      ['cu10', 8 + size * 1.5],
      ['blech10', 1.4],
      ['hartlot', 30 + size * 2],
    ]);
    make(`verflüss-${size}`, `Verflüssiger ${size} kW`, [
      ['platte', round(1.6 + size * 0.3)],
      ['messing', 0.25],
      ['schlauch', 0.8],
    ]);
    make(`verdichter-${size}`, `Verdichtereinheit ${size} kW`, [
      ['rollkolben', index < 3 ? 1 : 2],
      ['puffer', 4],
      ['öl', round(0.35 + size * 0.03)],
      ['wolle', 0.6],
    ]);
    make(`kreis-${size}`, `Kältekreis ${size} kW`, [
      [`verdampfer-${size}`, 1],
      [`verflüss-${size}`, 1],
      [`verdichter-${size}`, 1],
      ['cu22', 3.2],
      ['cu6', 1.8],
      ['expansion', 1],
      ['hartlot', 65],
    ]);
    make(`lüfter-${size}`, `Lüftereinheit ${size} kW`, [
      [`motor-${fan}`, size > 9 ? 2 : 1],
      ['ppgf', 0.9 + size * 0.1],
      ['vadraht', 6.5],
      ['puffer', 4],
    ]);
    make(`außen-${size}`, `Außengehäuse ${size} kW`, [
      ['blech10', 18 + size * 1.5],
      ['blech15', 6.5],
      ['lack7016', round(0.8 + size * 0.05)],
      ['wolle', 2.4],
      ['epdm', 12],
      ['niet', 60],
    ]);
  }
  for (const size of TANK_SIZES) {
    make(`speicher-${size}`, `Speicher ${size} l, emailliert`, [
      ['email', 30 + size * 0.12],
      ['fritte', round(size * 0.012)],
      ['anode', 1],
      ['messing', 0.4],
      ['pur', 4 + size * 0.01],
      ['blech07', 9.5],
    ]);
    make(`rohrw-${size}`, `Glattrohrwendel ${size} l`, [
      ['rohr25', 6 + size * 0.02],
      ['fritte', 0.3],
    ]);
    make(`wpb-${size}`, `Wärmepumpenmodul ${size} l`, [
      ['rollkolben', 1],
      ['lamelle', 2.2],
      ['cu10', 14.5],
      ['cu6', 2],
      ['expansion', 1],
      ['axial-60', 1],
      ['epp', 1.8],
      ['hartlot', 40],
    ]);
  }
}

function addDuctFanParts(make: Make): void {
  for (const [index, size] of DUCT_SIZES.entries()) {
    const watts = MOTOR_WATTS[index + 1] ?? 250;
    make(`kgeh-${size}`, `Rohrgehäuse DN ${size}`, [
      ['blech10', round(0.6 + size * 0.008)],
      ['lack7016', 0.12],
      ['blechschr', 8],
    ]);
    make(`kac-${size}`, `AC-Antrieb DN ${size}`, [
      [`paket-${watts}`, 1],
      ['lack28', round(0.1 + size * 0.001)],
      ['rund8', 0.09],
      ['lager608', 2],
      ['elko', 1],
      ['aldruck', 0.3],
    ]);
    make(`kec-${size}`, `EC-Antrieb DN ${size}`, [
      [`motor-${watts}`, 1],
      ['vadraht', 2.2],
      ['m4', 4],
    ]);
    make(`kleit-${size}`, `Leitrad DN ${size}`, [
      ['ppgf', round(0.15 + size * 0.002)],
      ['m4', 3],
    ]);
    make(`schelle-${size}`, `Schellenpaar DN ${size}`, [
      ['blech10', round(0.1 + size * 0.001)],
      ['epdm', round(size * 0.0063)],
      ['m4', 2],
    ]);
  }
}

/** Rounds a mass to grams, the precision of the drawings. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
