import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { csv } from '../../../connectors/csv/index.ts';
import { Config, type SourceConfig } from '../../../src/config/config.ts';
import { formatPlace, type Issue, type Place } from '../../../src/domain/issue.ts';
import { itemHash } from '../../../src/domain/item.ts';
import type { MappedItem, Mapper } from '../../../src/domain/mapping.ts';
import { compileMappings } from '../../../src/pipeline/mapping/compile-mappings.ts';
import { demoExport } from '../../generate/demo-export.ts';
import { readRows } from '../../support/connectors/connector-reader.ts';

const FOLDER = join(import.meta.dirname, '../../../config/demo');
const README = await readFile(join(FOLDER, 'README.md'), 'utf8');

/** The result of mapping the shipped export with the shipped config. */
interface Outcome {
  counts: Map<string, { rows: number; items: number; excluded: number; quarantined: number; repeated: number }>;
  items: Map<string, MappedItem>;
  places: Map<string, Place>;
  /** Codes of the issues of each quarantined row, by `file:line`. */
  issues: Map<string, string[]>;
}

let outcome: Outcome;

beforeAll(async () => {
  outcome = await mapExport(await shippedSource());
});

describe('the demo export', () => {
  it('the demo export is committed as the generator writes it, byte for byte', async () => {
    for (const [name, bytes] of demoExport().files) {
      const committed = await readFile(join(FOLDER, 'exports', name));
      expect(committed.equals(bytes), `config/demo/exports/${name} differs: run \`npm run generate\``).toBe(true);
    }
  });

  it('the demo export has each flaw on the line that the README names', () => {
    const written = tableOf('flaw').map(([id, file, line]) => `${id} ${file}:${line}`);
    const placed = demoExport().flaws.map(({ id, file, line }) => `${id} ${file}:${line}`);
    expect(written.toSorted()).toEqual(placed.toSorted());
  });

  it('the demo export ends each row with CRLF and breaks lines inside of quotes alone', () => {
    for (const bytes of demoExport().files.values()) {
      const text = bytes.toString('latin1');
      expect(text.endsWith('\r\n')).toBe(true);
      expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    }
    expect(demoExport().files.get('products.csv')?.toString('latin1')).toContain('"Luft-Wasser-Wärmepumpe 5 kW');
  });
});

describe('the demo config', () => {
  it('the demo config leads to the counts that the README names', () => {
    const written = tableOf('file', 'rows').map(([file, ...counts]) => [file, ...counts.map(Number)]);
    const counted = [...outcome.counts].map(([file, { rows, items, excluded, quarantined, repeated }]) => {
      expect(items + excluded + quarantined + repeated).toBe(rows);
      return [file, rows, items, excluded, quarantined, repeated];
    });
    expect(written).toEqual(counted);
  });

  it('the demo config leaves as many BOM items waiting as the README names', () => {
    const waiting = [...outcome.items.values()].filter((item) =>
      item.refs.some(({ kind, key }) => !outcome.items.has(`${kind} ${key}`)),
    );
    expect(README).toContain(`Of the BOM items, ${waiting.length} wait`);
  });

  it('the demo config quarantines the flawed rows, for the reasons of their flaws, and no other', () => {
    const expected: Record<string, string[]> = {
      'extra-separator': ['row.columns'],
      'country-eu': ['country.unknown'],
      'name-empty': ['field.required'],
      'status-unknown': ['lookup.unknown'],
      'gtin-check-digit': ['gtin.check'],
      'gtin-excel': ['gtin.rounded'],
      'undefined-byte': ['row.encoding'],
      'duplicate-differs': ['claim'],
      'country-xx': ['country.unknown'],
      'unit-unknown': ['unit.unknown'],
      'quantity-negative': ['field.invalid', 'field.invalid'],
      'quantity-excel': ['decimal.format'],
      'parent-missing': ['refs.product'],
      'contains-itself': ['refs.cycle'],
    };
    const byId = new Map(demoExport().flaws.map((flaw) => [flaw.id, `${flaw.file}:${flaw.line}`]));
    const placed = Object.entries(expected).map(([id, codes]) => [byId.get(id), codes]);
    expect(Object.fromEntries(outcome.issues)).toEqual(Object.fromEntries(placed));
  });

  it('the demo config finds the component that is missing, the archived parent and the cycle of two', () => {
    const lines = new Map([...outcome.places].map(([key, place]) => [formatPlace(place), outcome.items.get(key)]));
    const refsOf = (id: string) => {
      const flaw = demoExport().flaws.find((candidate) => candidate.id === id);
      const refs = lines.get(`${flaw?.file}:${flaw?.line}`)?.refs ?? [];
      return refs.map(({ kind, key }) => outcome.items.get(`${kind} ${key}`)?.payload);
    };
    expect(refsOf('component-missing')).toEqual([expect.objectContaining({ sku: 'ERS-SIP' }), undefined]);
    expect(refsOf('parent-discontinued')[0]).toMatchObject({ sku: 'ERS-LP1', status: 'ARCHIVED' });
    const [parent, component] = refsOf('contains-its-parent').map((payload) => payload?.sku);
    expect([parent, component]).toEqual(['BED-04', 'BED-02']);
    expect(childrenOf('BED-02')).toContain('BED-04');
  });

  it('the demo config makes fractions of percentages without binary noise, which add up to one', () => {
    const shares = [...outcome.items.values()].map(
      (item) => (item.payload.composition ?? []) as { mass_fraction: string }[],
    );
    for (const composition of shares.filter((entries) => entries.length > 0)) {
      const basisPoints = composition.map(({ mass_fraction }) => {
        expect(mass_fraction).toMatch(/^(?:1|0\.\d{1,4})$/);
        return Math.round(Number(mass_fraction) * 10_000);
      });
      expect(basisPoints.reduce((sum, points) => sum + points, 0)).toBe(10_000);
    }
    expect(shares.filter((entries) => entries.length > 0)).toHaveLength(
      outcome.counts.get('materials.csv')?.items ?? 0,
    );
  });

  it('the demo config gives substances CAS numbers whose check digits are right', () => {
    const numbers = [...outcome.items.values()]
      .flatMap((item) => (item.payload.composition ?? []) as { cas?: string }[])
      .flatMap(({ cas }) => (cas === undefined ? [] : [cas]));
    expect(numbers.length).toBeGreaterThan(200);
    for (const cas of new Set(numbers)) {
      const digits = cas.replaceAll('-', '');
      const sum = Array.from(digits.slice(0, -1))
        .toReversed()
        .reduce((total, digit, at) => total + Number(digit) * (at + 1), 0);
      expect(`${cas}: ${sum % 10}`).toBe(`${cas}: ${digits.at(-1)}`);
    }
  });

  it('the demo config keeps umlauts, signs beyond Latin-1 and line breaks', () => {
    const all = [...outcome.items.values()]
      .flatMap(({ payload }) => [payload.name, payload.description])
      .filter((text) => typeof text === 'string')
      .join('\n');
    for (const sign of ['ü', 'ß', '°', '²', '€', '–', '„', '"', ';', '\r\nVorlauf bis 70 °C'])
      expect(all).toContain(sign);
    expect(all).not.toMatch(/[\u0080-\u009f\ufffd]/);
  });

  it('the demo config goes as deep as the README says', () => {
    const bomItems = [...outcome.items.values()].filter((item) => item.kind === 'bom_item');
    expect(deepestLevel(bomItems)).toBe(6);
    expect(README).toContain('up to six levels');
  });
});

/** SKUs of the products that a product lists as components. */
function childrenOf(sku: string): unknown[] {
  const parent = [...outcome.items.values()].find(({ payload }) => payload.sku === sku);
  return [...outcome.items.values()]
    .filter(({ refs }) => refs.some(({ role, key }) => role === 'product' && key === parent?.key))
    .flatMap(({ refs }) => refs.filter(({ role }) => role === 'component'))
    .map(({ key }) => outcome.items.get(`product ${key}`)?.payload.sku);
}

/** How many levels of BOM lines the deepest product has below it. */
function deepestLevel(items: Iterable<MappedItem>): number {
  const lines = [...items].map(({ refs: [product, part] }) => ({ product: product?.key ?? '', part: part?.key ?? '' }));
  const byProduct = Map.groupBy(lines, ({ product }) => product);
  const depthOf = (key: string, above: ReadonlySet<string>): number => {
    if (above.has(key)) return 0;
    const below = (byProduct.get(key) ?? []).map(({ part }) => 1 + depthOf(part, new Set([...above, key])));
    return Math.max(0, ...below);
  };
  return Math.max(...[...byProduct.keys()].map((key) => depthOf(key, new Set())));
}

/** The config as shipped, checked by the schema, with values for its variables. */
async function shippedSource(): Promise<SourceConfig> {
  const text = await readFile(join(FOLDER, 'dpp-sync.yaml'), 'utf8');
  const variables: Record<string, string> = {
    DPP_BASE_URL: 'https://dpp.example.com',
    DPP_API_KEY: 'dpp_example_key_1',
  };
  const filled = text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => variables[name] ?? '');
  const [source] = Config.parse(parse(filled)).sources;
  if (!source) throw new Error('the demo config has no source');
  return source;
}

async function mapExport(source: SourceConfig): Promise<Outcome> {
  const mapper = await mapperOf(source);
  const result: Outcome = { counts: new Map(), items: new Map(), places: new Map(), issues: new Map() };
  for (const [stream, { key: _, ...options }] of Object.entries(source.streams ?? {})) {
    const rows = await readRows(csv, { folder: FOLDER, options: source.options, stream: options });
    const counts = { rows: rows.length, items: 0, excluded: 0, quarantined: 0, repeated: 0 };
    for (const { fields, place, issues = [] } of rows) {
      const mapped = mapper.map({ source: source.id, stream, fields, place, issues: issues as Issue[] });
      if (mapped.status === 'excluded') counts.excluded++;
      else if (mapped.status === 'quarantined') {
        counts.quarantined++;
        result.issues.set(
          formatPlace(place),
          mapped.issues.map(({ code }) => code),
        );
      } else for (const item of mapped.items) counts[claim(result, item, place)]++;
    }
    result.counts.set(`${stream}.csv`, counts);
  }
  return result;
}

/** The first row that makes an item has the item. A later row repeats it with the same values, and is wrong with other values. */
function claim(result: Outcome, item: MappedItem, place: Place): 'items' | 'repeated' | 'quarantined' {
  const id = `${item.kind} ${item.key}`;
  const first = result.items.get(id);
  if (!first) {
    result.items.set(id, item);
    result.places.set(id, place);
    return 'items';
  }
  if (itemHash(first) === itemHash(item)) return 'repeated';
  result.issues.set(formatPlace(place), ['claim']);
  return 'quarantined';
}

async function mapperOf(source: SourceConfig): Promise<Mapper> {
  const definitions = source.mappings.map(({ stream, to, key, when, refs, fields }, index) => ({
    stream,
    path: `sources[0].mappings[${index}]`,
    ...(to === undefined ? {} : { to }),
    ...(key === undefined ? {} : { key }),
    ...(when === undefined ? {} : { when }),
    ...(fields === undefined ? {} : { fields }),
    refs: JSON.parse(JSON.stringify(refs ?? {})) as Record<string, string>,
  }));
  const compiled = await compileMappings({ source: 'erp', definitions, baseDir: FOLDER });
  if (!compiled.ok) throw new Error(compiled.error.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  return compiled.value;
}

/** The rows of the table of the README whose header begins with these names, without the marks of Markdown. */
function tableOf(...header: string[]): string[][] {
  const lines = README.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${header.join(' | ')} |`));
  if (start === -1) throw new Error(`the README has no table ${header.join(', ')}`);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 2, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}
