import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { temporaryFolder } from '../../support/connectors/connector-reader.ts';

/** The values of a column in two forms: as JSON numbers where they are numbers, and as text. */
interface Values {
  number: JsonValue;
  text: string;
}

const same = (text: string): Values => ({ number: text, text });
const RECORDS = 12;

/** The columns of each kind that need no value, by the field that `init` proposes for them. */
const OPTIONAL: Record<string, Record<string, { column: string; values: Values }>> = {
  material: {
    recycled_mass_fraction: { column: 'recycledPercent', values: { number: 35.5, text: '35.5' } },
    category: { column: 'category', values: { number: 12, text: 'Metal' } },
    description: { column: 'description', values: same('<p>A <b>hard</b> metal</p>') },
    origin_country: { column: 'country_of_origin', values: same('DE') },
  },
  product: {
    gtin: { column: 'gtin', values: { number: 4_006_381_333_931, text: '4006381333931' } },
    description: { column: 'description', values: same('A pump for wells') },
    country_of_origin: { column: 'country_of_origin', values: same('Germany') },
  },
  bom_item: {
    unit: { column: 'unit', values: same('kg') },
    position: { column: 'position', values: { number: 10, text: '010' } },
    valid_from: { column: 'valid_from', values: { number: 20_260_131, text: '2026-01-31' } },
    valid_to: { column: 'valid_to', values: same('31.12.2026') },
  },
};

/** The columns that every record has. The key is different in each record. */
const REQUIRED: Record<string, (at: number, of: keyof Values) => JsonObject> = {
  material: (at) => ({ code: `M-${at}`, name: `Steel ${at}` }),
  product: (at) => ({ sku: `P-${at}`, name: `Pump ${at}` }),
  bom_item: (at, of) => ({
    id: of === 'number' ? at + 1 : `B-${at}`,
    product: `P-${at % 3}`,
    component: `M-${at}`,
    quantity: of === 'number' ? 2.125 : '2.5',
  }),
};

const odd = (at: number) => at % 2 === 1;

/** The forms in which a record has a value; undefined for a record without the member. */
const FORMS: [string, (values: Values, at: number) => JsonValue | undefined][] = [
  ['JSON numbers', ({ number }) => number],
  ['JSON numbers and null', ({ number }, at) => (odd(at) ? number : null)],
  ['JSON numbers and absent members', ({ number }, at) => (odd(at) ? number : undefined)],
  ['JSON numbers and empty text', ({ number }, at) => (odd(at) ? number : '')],
  ['JSON numbers and false for no value', ({ number }, at) => (odd(at) ? number : false)],
  ['texts', ({ text }) => text],
  ['texts and empty text', ({ text }, at) => (odd(at) ? text : '')],
  ['texts and blanks', ({ text }, at) => (odd(at) ? text : ' ')],
  ['texts and null', ({ text }, at) => (odd(at) ? text : null)],
  ['texts and absent members', ({ text }, at) => (odd(at) ? text : undefined)],
  [
    'texts, JSON numbers, null, blanks and absent members',
    ({ text, number }, at) => [text, number, null, '', undefined, ' '][at % 6],
  ],
];

async function initFrom(kind: string, row: (at: number) => JsonObject) {
  await using folder = await temporaryFolder({});
  const file = join(folder.path, `${kind}s.json`);
  const config = join(folder.path, 'config.yaml');
  writeFileSync(file, JSON.stringify(Array.from({ length: RECORDS }, (_, at) => row(at))));
  const init = await runHere(['init', '--from', file, '-c', config, '--json']);
  const preview = await runHere(['preview', 'erp', '-c', config, '--json']);
  const { sources } = parse(readFileSync(config, 'utf8')) as {
    sources: { mappings: { to: string; fields: Record<string, string> }[] }[];
  };
  const [mapping] = sources[0]?.mappings ?? [];
  const { todo } = init.json() as { todo: string[] };
  return { mapping, todo, counts: (preview.json() as { counts: object }).counts };
}

describe.each(Object.keys(OPTIONAL))('init --from a JSON file that makes each record a %s', (kind) => {
  it.each(FORMS)('the proposed mapping maps every record where the values are %s', async (_, valueOf) => {
    const columns = OPTIONAL[kind] ?? {};
    const given = Object.values(columns).map(({ column, values }) => ({ column, values }));
    const isNumber = valueOf({ number: 1, text: 'x' }, 1) === 1;
    const { mapping, todo, counts } = await initFrom(kind, (at) => ({
      ...REQUIRED[kind]?.(at, isNumber ? 'number' : 'text'),
      ...Object.fromEntries(
        given.flatMap(({ column, values }) => {
          const value = valueOf(values, at);
          return value === undefined ? [] : [[column, value]];
        }),
      ),
    }));
    expect(mapping?.to).toBe(kind);
    expect(Object.keys(mapping?.fields ?? {})).toEqual(expect.arrayContaining(Object.keys(columns)));
    expect(counts).toMatchObject({ records: RECORDS, mapped: RECORDS });
    // Nothing makes the products and parts of BOM items that stand alone.
    expect(todo).toEqual(kind === 'bom_item' ? [expect.stringContaining('nothing here makes')] : []);
  });
});
