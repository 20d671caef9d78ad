import { createRequire } from 'node:module';
import { encodeQR } from 'qr';
import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Document, member, NOT_FOUND, type Operation, refusal, textMember } from '../api/operation.ts';
import { type Entity, materialKey } from '../items/collection.ts';
import { productIn, stateOf } from '../items/passports.ts';
import { materialNamed, type PassportParts, publicUrlOf } from '../operations/passports.ts';

/** GET /api/exports/passport/{product_id}.pdf: the passport as a document for people, in any state. */
export function createPassportExport(parts: PassportParts): Operation {
  const { collections, ids, publicBaseUrl } = parts;
  const { passports, bomItems, materials, products } = collections;

  const bomOf = (organizationId: number, product: Entity): BomLine[] => {
    // Each material or component is looked up only once, even if many items name it.
    const components = new Map<unknown, Entity | undefined>();
    const named = new Map<unknown, Entity | undefined>();
    return bomItems.all(organizationId, 'product_id', product.rowId).map((item): BomLine => {
      const { material = null, component = null } = item.fields;
      if (material !== null) {
        if (!named.has(material)) named.set(material, materialNamed(materials, organizationId, item.fields));
        return { item, part: named.get(material), kind: 'material' };
      }
      if ((typeof component === 'string' || typeof component === 'number') && !components.has(component)) {
        components.set(component, products.get(organizationId, component));
      }
      return { item, part: components.get(component), kind: 'product' };
    });
  };

  return {
    naturalKey: () => undefined,
    execute(request) {
      const { organizationId, now } = request;
      const product = productIn(collections, ids, request);
      if (!product) return NOT_FOUND;
      const passport = passports.find(organizationId, 'product_id', product.rowId);
      if (!passport) return refusal(404, 'The product has no passport.');
      // A published passport keeps its address, even if the product got a GTIN later.
      const link = textMember(passport.fields, 'public_url') ?? publicUrlOf(publicBaseUrl, product);
      const draw = async (): Promise<Document> => {
        const content = contentOf({ product, passport, link, bom: bomOf(organizationId, product) });
        return { type: 'application/pdf', bytes: await drawPassport(content, new Date(now)) };
      };
      return { status: 200, body: null, draw };
    },
  };
}

/** A BOM item with its part: a material, or a component, which is a product. */
interface BomLine {
  item: Entity;
  part: Entity | undefined;
  kind: 'material' | 'product';
}

/** A stored passport. */
interface PassportSource {
  product: Entity;
  passport: Entity;
  /** The public address of the passport: that of its publication, or the address at which it would be published. */
  link: string;
  bom: BomLine[];
}

/** Makes the text of a passport. Facts without a value are left out. */
function contentOf({ product, passport, link, bom }: PassportSource): PassportContent {
  const { fields } = product;
  const materials = new Map<number, Entity>();
  for (const { kind, part } of bom) if (kind === 'material' && part) materials.set(part.rowId, part);
  const sku = textMember(fields, 'sku');
  return {
    title: `Digital product passport ${sku ?? ''}`,
    name: textMember(fields, 'name') ?? sku ?? '',
    link,
    lines: stated([
      ['SKU', sku],
      ['GTIN', textMember(fields, 'gtin')],
      ['Name', textMember(fields, 'name')],
      ['Product status', textMember(fields, 'status')],
      ['Country of origin', countryOf(textMember(fields, 'country_of_origin'))],
      ['Description', textMember(fields, 'description')],
      ['Passport', stateOf(passport)],
      ['Published', momentOf(passport.fields, 'published_at')],
      ['Unpublished', momentOf(passport.fields, 'unpublished_at')],
      ['Reviewed', momentOf(passport.fields, 'reviewed_at')],
      ['Address', link],
    ]),
    sections: [
      { title: `Materials (${materials.size})`, lines: [...materials.values()].map(materialLine) },
      { title: `Bill of materials (${bom.length})`, lines: bom.map(bomLine) },
    ],
  };
}

function materialLine({ fields }: Entity): string {
  const recycled = percentOf(textMember(fields, 'recycled_mass_fraction'));
  const hazardous = member(fields, 'hazardous');
  const composition = member(fields, 'composition');
  return joined([
    ...codeAndName(textMember(fields, 'code'), textMember(fields, 'name')),
    textMember(fields, 'category'),
    countryOf(textMember(fields, 'origin_country')),
    recycled && `${recycled} recycled`,
    typeof hazardous === 'boolean' ? (hazardous ? 'hazardous' : 'not hazardous') : undefined,
    ...(Array.isArray(composition) ? composition.map(substanceText) : []),
  ]);
}

function substanceText(substance: unknown): string {
  return `${textMember(substance, 'name') ?? ''} ${percentOf(textMember(substance, 'mass_fraction')) ?? ''}`.trim();
}

function bomLine({ item: { fields }, part, kind }: BomLine): string {
  const per = textMember(fields, 'per_quantity');
  const amount = [textMember(fields, 'quantity'), textMember(fields, 'unit')].filter(Boolean).join(' ');
  const mass = member(fields, 'mass');
  return joined([
    textMember(fields, 'position'),
    ...codeAndName(
      (kind === 'material' ? part && materialKey(part) : textMember(part?.fields, 'sku')) ?? '?',
      textMember(part?.fields, 'name'),
    ),
    per === undefined ? amount : `${amount} per ${per}`,
    [textMember(mass, 'value'), textMember(mass, 'unit')].filter(Boolean).join(' '),
  ]);
}

/** Returns a text once if the code and the name are the same, as in exports without codes. */
function codeAndName(code: string | undefined, name: string | undefined): (string | undefined)[] {
  return code === name ? [name] : [code, name];
}

/** A share from 0 to 1 in percent, with the same digits. */
function percentOf(share: string | undefined): string | undefined {
  const percent = share === undefined ? null : normalizeDecimal(`${share}e2`);
  return percent === null ? undefined : `${percent} %`;
}

/** A country's English name with its code. */
function countryOf(code: string | undefined): string | undefined {
  return code && `${new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code} (${code})`;
}

/** A time, exact to the minute. */
function momentOf(fields: JsonObject, name: string): string | undefined {
  const moment = textMember(fields, name);
  return moment && `${moment.slice(0, 16).replace('T', ' ')} UTC`;
}

function stated(facts: [label: string, value: string | undefined][]): string[] {
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [`${label}: ${value}`]));
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter(Boolean).join(' · ');
}

const require = createRequire(import.meta.url);

const MARGIN = 48;
const BOTTOM = 841.89 - MARGIN;
const WIDTH = 595.28 - 2 * MARGIN;
/** The side of the QR code with its quiet zone, in points: 42 mm. */
const QR_SIZE = 119;
/** The empty modules without which scanners may not find a QR code (ISO/IEC 18004, section 6.3.8). */
const QUIET_ZONE = 4;
const LINE = 13;
/**
 * No line of the page has room for more characters. Longer text is cut before, because the time of pdfkit to shorten a
 * text grows with the square of its length.
 */
const LINE_CHARACTERS_MAX = 200;
/** At most this many materials are shown, so that the bill of materials has room as well. */
const SECTION_LINES_MAX = 20;

/** The text of a passport's page. */
interface PassportContent {
  title: string;
  name: string;
  /** The address in the QR code. */
  link: string;
  lines: string[];
  /** Titles with a line for each entry. */
  sections: { title: string; lines: string[] }[];
}

/**
 * Draws a passport on one A4 page: its facts, a QR code with its address, its materials and its BOM. A text that is
 * wider than the page ends in an ellipsis, and entries that the page has no room for are counted. The same content
 * gives the same bytes. The font DejaVu Sans Condensed has these letters: Latin, Greek, Cyrillic, Armenian and
 * Georgian.
 *
 * @param at the date of the document
 */
export async function drawPassport({ title, name, link, ...content }: PassportContent, at: Date): Promise<Buffer> {
  // Only a sandbox that draws a passport loads pdfkit.
  const { default: PdfKit } = await import('pdfkit');
  const page = new PdfKit({
    size: 'A4',
    margin: MARGIN,
    // The version stays PDF 1.3, pdfkit's default. With a later version pdfkit would copy the title into XML without
    // escaping it.
    info: { Title: title, Creator: 'dpp-sync sandbox', Producer: 'pdfkit', CreationDate: at },
    font: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSansCondensed.ttf'),
  });
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => {
    page.on('data', (chunk: Buffer) => chunks.push(chunk));
    page.once('end', resolve);
    page.once('error', reject);
  });

  let y = MARGIN;
  const write = (text: string, size = 9): void => {
    const besideQr = y < MARGIN + QR_SIZE + LINE;
    const plain = text.normalize('NFC').replaceAll(/\s+/g, ' ').slice(0, LINE_CHARACTERS_MAX);
    const width = besideQr ? WIDTH - QR_SIZE : WIDTH;
    page.fontSize(size).text(plain, MARGIN, y, { width, height: size * 1.3, ellipsis: true });
    y += size + LINE - 9;
  };
  drawQrCode(page, link);
  write(title, 8);
  write(name, 16);
  for (const line of content.lines) write(line);
  for (const [index, section] of content.sections.entries()) {
    y += LINE / 2;
    write(section.title, 11);
    const isLast = index === content.sections.length - 1;
    // One line is kept free for the count of entries that have no room.
    const room = Math.floor((BOTTOM - y) / LINE) - 1;
    const shown = section.lines.slice(0, isLast ? room : Math.min(room, SECTION_LINES_MAX));
    for (const line of shown) write(line);
    const left = section.lines.length - shown.length;
    if (left > 0) write(`and ${left} more`);
  }
  page.end();
  await finished;
  return Buffer.concat(chunks);
}

/**
 * Draws the code at the right, with a link on it. With error correction M the code can be read with up to 15 % of
 * damage.
 */
function drawQrCode(page: PDFKit.PDFDocument, link: string): void {
  const rows = encodeQR(link, 'raw', { ecc: 'medium', border: QUIET_ZONE });
  const module = QR_SIZE / rows.length;
  const left = MARGIN + WIDTH - QR_SIZE;
  // All modules are one path, because viewers show thin lines between modules that are filled separately.
  for (const [row, modules] of rows.entries()) {
    const line = modules.map((dark) => (dark ? '#' : ' ')).join('');
    for (const run of line.matchAll(/#+/g)) {
      page.rect(left + run.index * module, MARGIN + row * module, run[0].length * module, module);
    }
  }
  page.fill('#000000');
  page.link(left, MARGIN, QR_SIZE, QR_SIZE, new URL(link).href);
}
