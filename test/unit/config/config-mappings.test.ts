import { describe, expect, it } from 'vitest';
import { loadText, problemsIn, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

/** A source of texts that others look up, and a source that looks them up. */
const JOINED = `target: { baseUrl: "https://dpp.example.com", apiKey: dpp_0123456789abcdef }
sources:
  - id: pim
    connector: csv
    omit: [PRICE]
    streams: { texts: { path: texts.csv, key: [SKU] } }
  - id: erp
    connector: csv
    streams: { products: { path: products.csv, key: [SKU] } }
    lookups:
      texts: { source: pim, stream: texts, key: SKU, value: [NAME, TEXT] }
    units: { Stk: C62 }
    mappings:
      - stream: products
        to: product
        key: row.SKU
        fields: { sku: row.SKU, name: 'lookup("texts", row.SKU).NAME' }
        rules: { name: { pattern: "^[A-Z]" }, sku: { empty: [n/a] } }
        onIssue: report
`;

const changed = (from: string, to: string) => problemsIn(JOINED.replace(from, to));

describe('mappings that need no scripts', () => {
  it('mappings without scripts are loaded with their lookup tables, units and rules', async () => {
    const config = await loadText(JOINED);
    const [pim, erp] = config.sources;
    expect(pim?.mappings).toEqual([]);
    expect(config.warnings).toEqual([]);
    expect(erp?.lookups).toEqual({ texts: { source: 'pim', stream: 'texts', key: ['SKU'], value: ['NAME', 'TEXT'] } });
    expect(erp?.units).toEqual({ Stk: 'C62' });
    expect(erp?.mappings[0]).toMatchObject({
      onIssue: 'report',
      rules: { name: { pattern: '^[A-Z]', required: false }, sku: { empty: ['n/a'] } },
    });
  });

  it.each([
    ['source: pim', 'source: pin', 'sources[1].lookups.texts.source'],
    ['stream: texts, key', 'stream: text, key', 'sources[1].lookups.texts.stream'],
    ['stream: texts, key', 'stream: texts, file: a.csv, key', 'sources[1].lookups.texts'],
    ['value: [NAME, TEXT]', 'value: PRICE', 'sources[1].lookups.texts.value'],
    ['Stk: C62', 'Stk: piece', 'sources[1].units.Stk'],
    ['rules: { name', 'rules: { nmae', 'sources[1].mappings[0].rules.nmae'],
    ['empty: [n/a]', 'min: many', 'sources[1].mappings[0].rules.sku.min'],
  ])('mappings are refused with the place of the mistake: %s as %s', async (from, to, path) => {
    expect(Object.keys(await changed(from, to))).toContain(path);
  });

  it('a source needs at least one mapping, unless another source looks it up', async () => {
    const alone = SOUND_CONFIG.replace(/ {4}mappings:[\s\S]*$/, '');
    expect(Object.keys(await problemsIn(alone))).toEqual(['sources[0].mappings']);
  });
});
