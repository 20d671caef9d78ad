import { describe, expect, it } from 'vitest';
import { readCases } from '../../../src/config/cases.ts';
import type { ConfigProblem } from '../../../src/config/problem.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { loadMappingsText } from '../../support/worlds/config-folder.ts';

const SOURCES = `sources:
  - id: erp
    connector: csv
    streams:
      products: { path: p.csv, key: [ID] }
      colours: { path: c.csv, key: [NO] }
      prices: { path: x.csv }
    lookups:
      colours: { stream: colours, key: NO, value: NAME }
      codes: { file: codes.csv, key: A, value: B }
    mappings:
      - { stream: products, to: product, key: row.ID, fields: { sku: row.ID, name: 'lookup("colours", row.NO)' } }
  - id: shop
    connector: json
    streams:
      products: { path: p.json, key: [ID] }
      goods: { path: g.json, key: [ID] }
    mappings:
      - { stream: products, to: product, key: row.ID, fields: { sku: row.ID, name: row.NAME } }
      - { stream: goods, to: product, key: row.ID, fields: { sku: row.ID, name: row.NAME } }
`;
const config = await loadMappingsText(SOURCES);

const read = (text: string) => readCases(text, { config, secrets: createSecretStore() });

function problemsOf(text: string): Pick<ConfigProblem, 'path' | 'line' | 'message' | 'cure'>[] {
  const cases = read(text);
  if (cases.ok) throw new Error('The cases have no problem.');
  return [...cases.error];
}

/** A file with one case of these members, which stand on lines of their own. */
const one = (given: string, expected = 'excluded: true') =>
  `cases:\n  - name: a\n    given: { ${given} }\n    expect: { ${expected} }\n`;
const SOUND = 'source: erp, stream: products, row: { ID: "1" }';

describe('a file of cases', () => {
  it('a file of cases gives each case with its source, its line and the lines of what it expects', () => {
    const cases = read(`cases:
  - name: an item
    given: { stream: goods, row: { ID: 7, NAME: Pump } }
    expect:
      items:
        - kind: product
          key: 7
          fields:
            sku: 0815
`);
    expect(cases).toMatchObject({
      ok: true,
      value: [
        {
          name: 'an item',
          given: { source: 'shop', stream: 'goods', row: { ID: 7, NAME: 'Pump' }, lookups: {} },
          expect: { items: [{ kind: 'product', key: '7', fields: { sku: '0815' } }] },
          line: 2,
        },
      ],
    });
    expect(cases.ok && cases.value[0]?.lineOf(['items', 0, 'fields', 'sku'])).toBe(9);
  });

  it('an issue of a case is one or a list of them', () => {
    const issueOf = (text: string) => {
      const cases = read(one(SOUND, text));
      return cases.ok ? cases.value[0]?.expect : cases.error;
    };
    expect(issueOf('issue: { code: a.b }')).toEqual({ issue: [{ code: 'a.b' }] });
    expect(issueOf('issue: [{ code: a.b, value: null }, { code: c.d, field: name }]')).toEqual({
      issue: [
        { code: 'a.b', value: null },
        { code: 'c.d', field: 'name' },
      ],
    });
  });

  it.each([
    [
      'an unknown key',
      one(`${SOUND}, rows: {}`),
      'cases[0].given.rows',
      3,
      'found an unknown key, expected one of source',
    ],
    [
      'an unknown key of an item',
      one(SOUND, 'items: [{ kind: product, key: a, field: {} }]'),
      'cases[0].expect.items[0].field',
      4,
      'found an unknown key',
    ],
    [
      'an unknown kind',
      one(SOUND, 'items: [{ kind: prodct, key: a }]'),
      'cases[0].expect.items[0].kind',
      4,
      'found "prodct", expected one of product',
    ],
    ['a file without a case', '# nothing yet\n', 'cases', null, 'found nothing, expected a list'],
    ['an empty list of cases', 'cases: []\n', 'cases', 1, 'found an empty list, expected at least one case'],
    [
      'a case without a row',
      one('source: erp, stream: products'),
      'cases[0].given.row',
      3,
      'found nothing, expected named values',
    ],
    [
      'an unknown source',
      one('source: er, stream: products, row: {}'),
      'cases[0].given.source',
      3,
      'found "er", expected a source of the config: one of erp, shop',
    ],
    [
      'a stream of several sources',
      one('stream: products, row: {}'),
      'cases[0].given.source',
      3,
      'expected one of erp, shop, because each of them has a stream products',
    ],
    [
      'a stream of another source',
      one('source: erp, stream: goods, row: {}'),
      'cases[0].given.stream',
      3,
      'found "goods", expected a stream of the source erp: one of products, colours, prices',
    ],
    [
      'a stream that no source has',
      one('stream: good, row: {}'),
      'cases[0].given.stream',
      3,
      'found "good", expected a stream of the config',
    ],
    [
      'a stream without a mapping',
      one('stream: prices, row: {}'),
      'cases[0].given.stream',
      3,
      'found "prices", expected a stream that a mapping of the config uses: products',
    ],
    [
      'a number in a row of text',
      one('source: erp, stream: products, row: { ID: "1", NO: 4711 }'),
      'cases[0].given.row.NO',
      3,
      'found 4711, expected text, because all values of the connector csv are text',
    ],
    [
      'a number within a row of text',
      one('source: erp, stream: products, row: { ID: ["1", { A: 2 }] }'),
      'cases[0].given.row.ID[1].A',
      3,
      'found 2, expected text',
    ],
    [
      'no expectation',
      one(SOUND, ''),
      'cases[0].expect',
      4,
      'found nothing that is expected, expected items, issue or excluded',
    ],
    [
      'an excluded row with items',
      one(SOUND, 'excluded: true, items: [{ kind: product, key: a }]'),
      'cases[0].expect.excluded',
      4,
      'found excluded beside other expectations',
    ],
    [
      'a row that is not excluded',
      one(SOUND, 'excluded: false'),
      'cases[0].expect.excluded',
      4,
      'found false, expected true, or no such key',
    ],
    [
      'no items',
      one(SOUND, 'items: []'),
      'cases[0].expect.items',
      4,
      'found an empty list, expected at least one item, or `excluded: true`',
    ],
    [
      'a field without a value',
      one(SOUND, 'items: [{ kind: product, key: a, fields: { name: null } }]'),
      'cases[0].expect.items[0].fields.name',
      4,
      'found nothing, expected a value',
    ],
    [
      'an issue without a code',
      one(SOUND, 'issue: { field: name }'),
      'cases[0].expect.issue.code',
      4,
      'found nothing, expected text',
    ],
    [
      'a name that occurs twice',
      `${one(SOUND)}${one(SOUND).slice(7)}`,
      'cases[1].name',
      5,
      'found "a", expected a name of its own, because cases[0] has it',
    ],
    [
      'an empty name',
      one(SOUND).replace('name: a', 'name: " "'),
      'cases[0].name',
      2,
      'expected a name that is not empty',
    ],
    [
      'rows of an unknown table',
      one(`${SOUND}, lookups: { colors: [] }`),
      'cases[0].given.lookups.colors',
      3,
      'found an unknown key, expected colours',
    ],
    [
      'rows of a table over a file',
      one(`${SOUND}, lookups: { codes: [] }`),
      'cases[0].given.lookups.codes',
      3,
      'expected none: its entries are in the file codes.csv',
    ],
    [
      'a row of a table without a column',
      one(`${SOUND}, lookups: { colours: [{ NO: "1" }] }`),
      'cases[0].given.lookups.colours[0]',
      3,
      'found a row without NAME, expected the columns NO, NAME',
    ],
    [
      'a number in a row of a table',
      one(`${SOUND}, lookups: { colours: [{ NO: 1, NAME: red }] }`),
      'cases[0].given.lookups.colours[0].NO',
      3,
      'found 1, expected text',
    ],
  ])('a file of cases is refused with %s', (_what, text, path, line, message) => {
    const [problem, ...others] = problemsOf(text);
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ path, line, message: expect.stringContaining(message) });
  });

  it('a file of cases is refused with all problems at once, and says what to do', () => {
    const text = `${one(`${SOUND}, lookup: {}`)}${one('source: ep, stream: products, row: { ID: 1 }').slice(7)}`;
    expect(problemsOf(text)).toMatchObject([{ path: 'cases[0].given.lookup', cure: 'Did you mean lookups?' }]);
    expect(problemsOf(text.replace('lookup: {}', 'lookups: {}'))).toMatchObject([
      { path: 'cases[1].name' },
      { path: 'cases[1].given.source', cure: 'Did you mean erp?' },
    ]);
  });

  it('the syntax of a file of cases is checked like that of a config', () => {
    expect(problemsOf('cases:\n  - name: a\n   given: {}\n')).toMatchObject([{ line: 3 }]);
  });

  it('numbers in a row of JSON are numbers, and text with zeros at its beginning stays text', () => {
    const cases = read(one('source: shop, stream: products, row: { ID: 7, WEIGHT: 2.50, CODE: 007, NOTE: "${HOME}" }'));
    expect(cases.ok && cases.value[0]?.given.row).toEqual({ ID: 7, WEIGHT: 2.5, CODE: '007', NOTE: '${HOME}' });
  });
});

describe('a config whose mappings alone are read', () => {
  it('a config whose mappings alone are read needs no value of a placeholder but those of the mappings', async () => {
    const text = `target: { baseUrl: "\${URL}", apiKey: "\${KEY}", profile: default }
queue: "\${REDIS}"
ledger: "\${LEDGER}"
web: { port: "\${PORT}", token: "\${TOKEN}" }
alerts: { channels: [{ id: a, webhook: { url: "\${HOOK}" } }] }
sources:
  - id: erp
    connector: "\${CONNECTOR}"
    schedule: "\${CRON}"
    options: { port: "\${DB_PORT}", path: "\${FILE}", key: [ID] }
    mappings: [{ to: product, key: row.ID, fields: { sku: row.ID, name: row.NAME } }]
`;
    expect(await loadMappingsText(text)).toMatchObject({
      sources: [
        { id: 'erp', schedule: null, streams: [{ name: 'default', key: ['ID'] }], mappings: [{ stream: 'default' }] },
      ],
      warnings: [],
    });
  });

  it.each([
    ['a key column', 'options: { key: ["${KEY_COLUMN}"] }', 'sources[0].options.key[0]'],
    [
      'an expression',
      'mappings: [{ to: product, key: "${KEY}", fields: { sku: row.a, name: row.b } }]',
      'sources[0].mappings[0].key',
    ],
    ['a column that is never stored', 'omit: ["${SECRET_COLUMN}"]', 'sources[0].omit[0]'],
  ])('a config whose mappings alone are read needs the value of %s', async (_what, members, path) => {
    const base = {
      options: 'options: {}',
      mappings: 'mappings: [{ to: product, key: row.a, fields: { sku: row.a, name: row.b } }]',
    };
    const others = Object.entries(base)
      .filter(([name]) => !members.startsWith(name))
      .map(([, line]) => `    ${line}\n`);
    const text = `sources:\n  - id: erp\n    connector: csv\n    ${members}\n${others.join('')}`;
    await expect(loadMappingsText(text)).rejects.toMatchObject({ code: 'config.invalid', path });
  });

  it('a config whose mappings alone are read is refused with a key that is no list', async () => {
    const text = SOURCES.replace('key: [ID] }', 'key: ID }');
    await expect(loadMappingsText(text)).rejects.toMatchObject({ path: 'sources[0].streams.products.key' });
  });
});
