import type { Constituent } from './catalog.ts';

/** Name and CAS number, by the short name that recipes use. Mixtures have no number. */
const SUBSTANCES = {
  Fe: ['Eisen', '7439-89-6'],
  C: ['Kohlenstoff', '7440-44-0'],
  Mn: ['Mangan', '7439-96-5'],
  Si: ['Silicium', '7440-21-3'],
  Cr: ['Chrom', '7440-47-3'],
  Ni: ['Nickel', '7440-02-0'],
  Mo: ['Molybdän', '7439-98-7'],
  Zn: ['Zink', '7440-66-6'],
  Al: ['Aluminium', '7429-90-5'],
  Mg: ['Magnesium', '7439-95-4'],
  Cu: ['Kupfer', '7440-50-8'],
  Pb: ['Blei', '7439-92-1'],
  P: ['Phosphor', '7723-14-0'],
  Ag: ['Silber', '7440-22-4'],
  Sn: ['Zinn', '7440-31-5'],
  Nd: ['Neodym', '7440-00-8'],
  Dy: ['Dysprosium', '7429-91-6'],
  B: ['Bor', '7440-42-8'],
  PP: ['Polypropylen', '9003-07-0'],
  ABS: ['Acrylnitril-Butadien-Styrol', '9003-56-9'],
  PA6: ['Polyamid 6', '25038-54-4'],
  PA66: ['Polyamid 6.6', '32131-17-2'],
  POM: ['Polyoxymethylen', '9002-81-7'],
  PC: ['Polycarbonat', '25037-45-0'],
  PBT: ['Polybutylenterephthalat', '24968-12-5'],
  PE: ['Polyethylen', '9002-88-4'],
  PVC: ['Polyvinylchlorid', '9002-86-2'],
  PET: ['Polyethylenterephthalat', '25038-59-9'],
  PS: ['Polystyrol', '9003-53-6'],
  PUR: ['Polyurethan', '9009-54-5'],
  MDI: ["Diphenylmethan-4,4'-diisocyanat", '101-68-8'],
  Melamin: ['Melamin-Formaldehyd-Harz', '9003-08-1'],
  EPDM: ['EPDM-Kautschuk', '25038-36-2'],
  NBR: ['Nitrilkautschuk', '9003-18-3'],
  PDMS: ['Polydimethylsiloxan', '63148-62-9'],
  Epoxid: ['Epoxidharz (Bisphenol A)', '25068-38-6'],
  Glas: ['Glasfaser', '65997-17-3'],
  Talkum: ['Talkum', '14807-96-6'],
  Kreide: ['Calciumcarbonat', '471-34-1'],
  Ruß: ['Ruß', '1333-86-4'],
  TiO2: ['Titandioxid', '13463-67-7'],
  Fe2O3: ['Eisen(III)-oxid', '1309-37-1'],
  SrCO3: ['Strontiumcarbonat', '1633-05-2'],
  Aktivkohle: ['Aktivkohle', '7440-44-0'],
  Zellulose: ['Zellulose', '9004-34-6'],
  SiO2: ['Siliciumdioxid', '7631-86-9'],
  Al2O3: ['Aluminiumoxid', '1344-28-1'],
  ZnO: ['Zinkoxid', '1314-13-2'],
  Propan: ['Propan', '74-98-6'],
  R32: ['Difluormethan', '75-10-5'],
  Glykol: ['1,2-Propandiol', '57-55-6'],
  Wasser: ['Wasser', '7732-18-5'],
  Steinwolle: ['Steinwolle', ''],
  Binder: ['Harzbinder', ''],
  Weichmacher: ['Weichmacher (phthalatfrei)', ''],
  Additive: ['Additive', ''],
  Esteröl: ['Polyolesteröl', ''],
  TPE: ['Styrol-Blockcopolymer', ''],
  Polyesterharz: ['Polyesterharz', ''],
  Flammschutz: ['Flammschutzmittel (halogenfrei)', ''],
} as const satisfies Record<string, readonly [name: string, cas: string]>;

type Substance = keyof typeof SUBSTANCES;

/**
 * Reads a recipe such as `Fe 98.4, Mn 1.2, Si 0.4`: shares in percent, the largest first.
 * @throws Error if a substance is unknown, or if there are more than five
 */
export function constituents(recipe: string): Constituent[] {
  const parts = recipe.split(', ').map((entry) => {
    const [symbol = '', percent = ''] = entry.split(' ');
    if (!isSubstance(symbol)) throw new Error(`There is no substance "${symbol}".`);
    const [name, cas] = SUBSTANCES[symbol];
    return { name, cas, percent: Number(percent) };
  });
  if (parts.length > 5) throw new Error(`The export has columns for five constituents: ${recipe}`);
  return parts;
}

function isSubstance(symbol: string): symbol is Substance {
  return Object.hasOwn(SUBSTANCES, symbol);
}
