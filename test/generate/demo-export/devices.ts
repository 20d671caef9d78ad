import { CENTRAL_SIZES, DUCT_SIZES, HEAT_PUMP_SIZES, ROOM_SIZES, TANK_SIZES } from './assemblies.ts';
import type { Catalog } from './catalog.ts';

type Lines = (readonly [id: string, quantity: number])[];

const PAPERS: Lines = [['papier', 0.5]];

/** Adds all variants of the devices that the company sells. */
export function addDevices(catalog: Catalog): void {
  const sell = (article: string, group: string, name: string, text: string, lines: Lines) =>
    catalog.add({ id: article, type: 'FERT', article, group, name, text, lines: [...lines, ...PAPERS] });
  addCentralUnits(sell);
  addRoomUnits(sell);
  addHeatPumps(sell);
  addHotWaterHeatPumps(sell);
  addDuctFans(sell);
}

type Sell = (article: string, group: string, name: string, text: string, lines: Lines) => void;

function addCentralUnits(sell: Sell): void {
  const options = [
    { code: 'S', name: '', text: '', extra: [] },
    { code: 'E', name: ' Enthalpie', text: '; mit Feuchterückgewinnung', extra: [] },
    { code: 'V', name: ' Vorheizung', text: '; frostfrei bis –15 °C', extra: ['heiz'] },
  ] as const;
  for (const size of CENTRAL_SIZES) {
    for (const side of ['L', 'R']) {
      for (const option of options) {
        const lines: Lines = [
          [`geh-${size}${side}`, 1],
          [`${option.code === 'E' ? 'wte' : 'wt'}-${size}`, 1],
          [`zuluft-${size}`, 1],
          [`abluft-${size}`, 1],
          [`filter-${size}`, 1],
          [`grob-${size}`, 1],
          [`wanne-${size}`, 1],
          ['bypass', 1],
          ['regler-z', 1],
          ['kabel-z', 1],
          ['epdm', 4.5],
          ['m4', 32],
          ['beutel', 1],
          ...option.extra.map((part): [string, number] => [`${part}-${size}`, 1]),
          ['karton-l', 1],
          ['palette', 1],
        ];
        const area = Math.round(size * 0.4);
        const text = `Zentrales Lüftungsgerät mit Wärmerückgewinnung für Wohnungen bis ${area} m²${option.text}; Anschlüsse "${side === 'L' ? 'links' : 'rechts'}", Wärmebereitstellungsgrad bis ${option.code === 'E' ? 84 : 91} %.`;
        const name = `Lüftungsgerät TWZ ${size}${option.name} ${side === 'L' ? 'links' : 'rechts'}`;
        sell(`TWZ-${size}-${side}${option.code}`, 'Zentrale Lüftung', name, text, lines);
      }
    }
  }
}

function addRoomUnits(sell: Sell): void {
  for (const size of ROOM_SIZES) {
    for (const [finish, colour] of [
      ['W', 'weiß'],
      ['A', 'anthrazit'],
      ['E', 'Edelstahl'],
    ] as const) {
      for (const plus of [false, true]) {
        const lines: Lines = [
          [`axial-${size}`, 1],
          [`keramik-${size}`, 1],
          [`rohr-${size}`, 1],
          [`blende-${size}${finish}`, 1],
          [plus ? 'regler-dp' : 'regler-d', 1],
          ['vliesg4', 0.04],
          ['epdm', 0.8],
          ['beutel', 1],
          ['karton-m', 1],
        ];
        const text = `Einzelraumlüftung, ${size} m³/h, für Räume bis ${Math.round(size * 0.6)} m²; ab 18 dB(A) – auch nachträglich einzubauen.`;
        const name = `Einzelraumlüfter TWD ${size}${plus ? ' Plus' : ''} ${colour}`;
        sell(`TWD-${size}-${finish}${plus ? 'P' : ''}`, 'Dezentrale Lüftung', name, text, lines);
      }
    }
  }
}

function addHeatPumps(sell: Sell): void {
  for (const size of HEAT_PUMP_SIZES) {
    for (const volts of [230, 400]) {
      for (const split of [false, true]) {
        const lines: Lines = [
          [`kreis-${size}`, 1],
          [`lüfter-${size}`, 1],
          [`außen-${size}`, 1],
          [`inverter-${volts}`, 1],
          ['regler-l', 1],
          ['kabel-l', 1],
          [split ? 'r32' : 'r290', split ? 0.9 + size * 0.08 : 0.4 + size * 0.06],
          ['sole', split ? 2.5 : 4.5],
          ['schlauch', split ? 9 : 3],
          ['puffer', 4],
          ['m4', 48],
          ['beutel', 2],
          ['karton-l', 1],
          ['palette', 1],
        ];
        const text = [
          `Luft-Wasser-Wärmepumpe ${size} kW (A–7/W35), ${volts} V, ${split ? 'Splitausführung' : 'Monoblock'}.`,
          `Vorlauf bis ${split ? 60 : 70} °C; Kältemittel ${split ? 'R32' : 'R290'}.`,
          'Förderfähig nach "BEG EM"; Zuschuss bis 21.000,00 €.',
        ].join('\r\n');
        const name = `Wärmepumpe TWL ${size} kW ${split ? 'Split' : 'Monoblock'} ${volts} V`;
        sell(`TWL-${size}-${volts}${split ? 'S' : 'M'}`, 'Wärmepumpe', name, text, lines);
      }
    }
  }
}

function addHotWaterHeatPumps(sell: Sell): void {
  for (const size of TANK_SIZES) {
    for (const coil of [false, true]) {
      for (const solar of [false, true]) {
        const lines: Lines = [
          [`speicher-${size}`, 1],
          [`wpb-${size}`, 1],
          ['regler-b', 1],
          ['r290', 0.15],
          ['leitung', 2.2],
          ...(coil ? ([[`rohrw-${size}`, 1]] satisfies Lines) : []),
          ...(solar
            ? ([
                ['fühler-temp', 1],
                ['relais', 1],
              ] satisfies Lines)
            : []),
          ['pehd', 1.5],
          ['absw', 1.4],
          ['beutel', 1],
          ['karton-l', 1],
          ['palette', 1],
        ];
        const text = `Brauchwasser-Wärmepumpe mit ${size} l Speicher${coil ? ', Wärmetauscher für einen zweiten Wärmeerzeuger' : ''}${solar ? ', PV-Kontakt' : ''}; Warmwasser bis 60 °C.`;
        const name = `Brauchwasser-Wärmepumpe TWB ${size}${coil ? ' W' : ''}${solar ? ' PV' : ''}`;
        sell(`TWB-${size}${coil ? '-W' : ''}${solar ? '-PV' : ''}`, 'Wärmepumpe', name, text, lines);
      }
    }
  }
}

function addDuctFans(sell: Sell): void {
  for (const size of DUCT_SIZES) {
    for (const drive of ['AC', 'EC']) {
      const watts = [28, 45, 70, 85, 120, 170][DUCT_SIZES.indexOf(size)] ?? 28;
      const lines: Lines = [
        [`kgeh-${size}`, 1],
        [`k${drive.toLowerCase()}-${size}`, 1],
        [`rad-${watts}`, 1],
        [`kleit-${size}`, 1],
        [`schelle-${size}`, 1],
        ['kabel-k', 1],
        ['karton-m', 1],
      ];
      const text = `Rohrventilator für Ø ${size} mm, ${drive}-Motor; –20 bis +60 °C.`;
      sell(`TWK-${size}-${drive}`, 'Kanalventilator', `Rohrventilator TWK ${size} ${drive}`, text, lines);
    }
  }
}
