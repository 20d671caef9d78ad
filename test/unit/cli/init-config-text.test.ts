import { Environment } from '@marcbachmann/cel-js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { columnsOf } from '../../../src/cli/init/columns.ts';
import { sourcesText, todoOf, yamlLine, yamlValue } from '../../../src/cli/init/write-config.ts';
import { exceeds } from '../../../src/ledger/records/guard-limits.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { partsOf, rowsOf, textOf } from './proposed.ts';

describe('the text of a config', () => {
  it('the text of a config is YAML with every name and value as it was, however odd', () => {
    const odd = [
      'a: b',
      '# c',
      '"q"',
      "it's",
      '${HOME}',
      'two\nlines',
      'tab\there',
      '- x',
      'null',
      '{a}',
      'Größe',
      '\u2028',
    ];
    const rows = rowsOf(3, (at) => ({
      sku: `A${at}`,
      name: 'x',
      ...Object.fromEntries(odd.map((name) => [name, `1,${at}`])),
    }));
    const parts = partsOf(rows);
    parts.path = './odd ${x}: #1.csv';
    const text = sourcesText({ ...parts, recognised: { ...parts.recognised, hints: odd } });
    expect(parse(text)).toMatchObject({
      sources: [
        {
          streams: { s: { path: './odd $${x}: #1.csv', key: ['sku'] } },
          mappings: [{ key: 'row.sku', fields: { name: 'row.name' } }],
        },
      ],
    });
    for (const value of odd) {
      expect(parse(yamlLine(0, `v: ${yamlValue(value)}`, value).join('\n'))).toEqual({
        v: value.replace('${', () => '$${'),
      });
      const escaped = value.replace('${', () => '$${');
      expect(parse(`v: ${yamlValue({ list: [value], [value]: { name: value } })}`)).toEqual({
        v: { list: [escaped], [value]: { name: escaped } },
      });
    }
  });

  it('the text of a config shows each character that nobody sees, and names the same columns', () => {
    const odd = ['MAT\u200bNR', 'A\u202eB', 'C\u00a0D', 'E\ufe0f', 'F\u{e0001}'];
    const rows = rowsOf(3, (at) => Object.fromEntries(odd.map((name) => [name, `${name}${at}`])));
    const parts = partsOf(rows);
    parts.path = './a\u200b.csv';
    const text = sourcesText(parts);
    expect(text).toMatch(/^[\t\n\x20-\x7e\u00a0]*$/);
    const [source] = parse(text).sources;
    expect(source.streams.s).toMatchObject({ path: './a\u200b.csv', key: [odd[0]] });
    const { columns } = columnsOf(rows);
    const environment = new Environment().registerVariable('row', 'map');
    expect(columns.map(({ access }) => environment.evaluate(access, { row: rows[0] }))).toEqual(
      odd.map((name) => `${name}0`),
    );
    expect(source.mappings[0].key).toBe(String.raw`row["MAT\u200bNR"]`);
  });

  it.each<[string, JsonObject[]]>([
    ['no key and no names', [{ a: 'x' }, { a: 'y' }, { a: 'x' }, { a: '' }]],
    ['nothing to do', rowsOf(3, (at) => ({ sku: `A${at}`, name: 'x', origin: 'DE' }))],
    ['a key with gaps', rowsOf(5, (at) => ({ sku: at === 3 ? '' : `A${at}`, name: 'x', origin: 'DE' }))],
    ['BOM items without a unit', rowsOf(3, (at) => ({ parent: `P${at}`, component: 'M', qty: '1.250' }))],
  ])('the text of a config has as many marks as there are lines with TODO: %s', (_about, rows) => {
    const parts = partsOf(rows);
    const option = { name: 'encoding', value: 'cp852', reason: 'a guess', isTodo: true };
    parts.recognised = { ...parts.recognised, options: [option] as never[] };
    expect(sourcesText(parts).match(/# TODO /g)).toHaveLength(todoOf(parts).length);
  });

  it('the text of a config has the expression for a column of numbers, also if a few values are none', () => {
    const weights = ['1,4 kg', '0,9', '1,1', '0,7'];
    const rows = weights.map((weight, at) => ({
      sku: `A${at}`,
      name: 'x',
      Gewicht: weight,
      Maat: at < 3 ? 'XL' : '1,5',
    }));
    const text = textOf(rows);
    expect(text).toContain(
      '# Gewicht: 3 of 4 values are decimal numbers with a comma, not "1,4 kg": decimal(row.Gewicht, ",").',
    );
    expect(text).not.toContain('# Maat:');
  });

  it('the text of a config names the fields that a column could fill, and says where a weight belongs', () => {
    const rows = rowsOf(3, (at) => ({ sku: `A${at}`, name: 'x', Gewicht: `1,${at}`, Kleur: 'rood' }));
    const text = (of: JsonObject[]) => textOf(of).replaceAll(/\n +# /g, ' ');
    const fields =
      'The fields of a product are sku, name, status, country_of_origin, description and gtin. A weight can be the quantity of a BOM item';
    expect(text(rows)).toContain(`No line uses Gewicht, Kleur. ${fields}`);
    expect(text(rows.map((row) => ({ ...row, 'CAS-Nr.': '' })))).toContain(
      'In the sample, no record has a value of CAS-Nr.',
    );
    expect(text(rows.map((row) => ({ ...row, Gewicht: '' })))).not.toContain('A weight');
    expect(text(rows.map((row) => ({ ...row, 'CAS-Nr.': 'x' })))).toContain('No line uses Gewicht, Kleur, CAS-Nr. The');
    const items = rows.map((row) => ({ ...row, parent: 'P', component: 'M1', qty: '1' }));
    expect(text(items)).toContain('The fields of a BOM item are quantity, unit,');
  });

  it('the text of a config says at which size of a file the guard holds a single missing record', () => {
    const isHeld = (known: number) => exceeds({ lost: 1, known }, { maxMissing: 0.05, maxMissingCount: 500 });
    expect([isHeld(19), isHeld(20)]).toEqual([true, false]);
    const text = textOf(rowsOf(3, (at) => ({ sku: `A${at}`, name: 'x' }))).replaceAll(/\n +# /g, ' ');
    expect(text).toContain('of fewer than 20 records, one that is missing is beyond 5%');
  });

  it('the text of a config has a long comment above its line, and a short one beside it', () => {
    expect(yamlLine(2, 'a: 1', 'short')).toEqual(['  a: 1 # short']);
    const lines = yamlLine(2, 'a: 1', 'word '.repeat(50).trim());
    expect(lines.at(-1)).toBe('  a: 1');
    expect(lines.slice(0, -1).every((line) => line.startsWith('  # word') && line.length <= 110)).toBe(true);
  });
});
