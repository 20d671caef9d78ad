export type Lines = (readonly [id: string, quantity: number])[];

/** Adds an assembly. */
export type Make = (id: string, name: string, lines: Lines) => void;

/** Adds circuit boards, sensors, drives, wiring and controls. */
export function addElectronics(make: Make): void {
  const board = (id: string, name: string, area: number, extra: Lines) =>
    make(id, name, [['fr4', area], ['widerstand', 1], ['zinn', 900 * area], ['stecker4', 2], ...extra]);
  board('lp-motor-s', 'Leiterplatte Kommutierung bis 50 W', 0.002, [
    ['mcu', 1],
    ['elko', 2],
  ]);
  board('lp-motor-m', 'Leiterplatte Kommutierung bis 120 W', 0.004, [
    ['mcu', 1],
    ['elko', 3],
    ['drossel', 1],
  ]);
  board('lp-motor-l', 'Leiterplatte Kommutierung bis 250 W', 0.007, [
    ['mcu', 1],
    ['igbt', 1],
    ['elko', 4],
    ['drossel', 2],
  ]);
  board('lp-regler', 'Leiterplatte Hauptregler', 0.018, [
    ['mcu', 2],
    ['relais', 4],
    ['elko', 5],
    ['stecker12', 3],
  ]);
  board('lp-anzeige', 'Leiterplatte Anzeige', 0.006, [
    ['mcu', 1],
    ['lcd', 1],
  ]);
  board('lp-netz', 'Leiterplatte Netzteil 24 V', 0.009, [
    ['drossel', 2],
    ['elko', 4],
    ['relais', 1],
  ]);
  board('lp-inverter', 'Leiterplatte Frequenzumrichter', 0.032, [
    ['igbt', 3],
    ['mcu', 1],
    ['elko', 8],
    ['drossel', 3],
  ]);
  board('lp-sensor', 'Leiterplatte Fühler', 0.0006, []);

  make('fühler-temp', 'Temperaturfühler NTC, –40 bis +120 °C', [
    ['ntc', 1],
    ['litze', 2.4],
    ['stecker4', 1],
    ['silikon', 0.05],
  ]);
  make('fühler-feuchte', 'Feuchtefühler 0–100 % r. F.', [
    ['feuchte', 1],
    ['lp-sensor', 1],
    ['litze', 0.8],
    ['pc', 0.006],
  ]);
  make('fühler-co2', 'CO2-Fühler 400–2.000 ppm', [
    ['co2', 1],
    ['lp-sensor', 1],
    ['litze', 1.2],
    ['pc', 0.014],
  ]);
  make('netzteil', 'Netzteil 24 V / 60 W', [
    ['lp-netz', 1],
    ['pbt', 0.06],
    ['m4', 4],
    ['paste', 3],
  ]);
  make('inverter-230', 'Frequenzumrichter 230 V', [
    ['lp-inverter', 1],
    ['aldruck', 0.85],
    ['paste', 12],
    ['m4', 8],
  ]);
  make('inverter-400', 'Frequenzumrichter 400 V', [
    ['lp-inverter', 2],
    ['aldruck', 1.25],
    ['paste', 18],
    ['m4', 12],
  ]);
  make('kabel-z', 'Kabelsatz Zentralgerät', [
    ['litze', 14.5],
    ['leitung', 2.5],
    ['stecker4', 8],
    ['stecker12', 2],
  ]);
  make('kabel-d', 'Kabelsatz Einzelraumgerät', [
    ['litze', 1.8],
    ['stecker4', 3],
  ]);
  make('kabel-l', 'Kabelsatz Wärmepumpe', [
    ['litze', 22],
    ['leitung', 6.5],
    ['stecker4', 10],
    ['stecker12', 4],
  ]);
  make('kabel-k', 'Anschlussleitung mit Klemmkasten', [
    ['leitung', 1.5],
    ['stecker4', 1],
    ['pa66', 0.08],
  ]);
  make('regler-z', 'Regelung Zentralgerät', [
    ['lp-regler', 1],
    ['netzteil', 1],
    ['fühler-temp', 4],
    ['fühler-feuchte', 1],
    ['pcabs', 0.22],
    ['m4', 6],
  ]);
  make('regler-d', 'Regelung Einzelraumgerät', [
    ['lp-anzeige', 1],
    ['pcabs', 0.05],
    ['m4', 2],
  ]);
  make('regler-dp', 'Regelung Einzelraumgerät Plus', [
    ['lp-anzeige', 1],
    ['fühler-feuchte', 1],
    ['fühler-co2', 1],
    ['pcabs', 0.06],
    ['m4', 2],
  ]);
  make('regler-l', 'Regelung Wärmepumpe', [
    ['lp-regler', 2],
    ['lp-anzeige', 1],
    ['netzteil', 1],
    ['fühler-temp', 8],
    ['pcabs', 0.4],
    ['m4', 10],
  ]);
  make('regler-b', 'Regelung Brauchwasser-Wärmepumpe', [
    ['lp-regler', 1],
    ['lp-anzeige', 1],
    ['fühler-temp', 3],
    ['pcabs', 0.25],
    ['m4', 6],
  ]);
}
