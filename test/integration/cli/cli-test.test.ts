import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { configFolder, REPOSITORY } from '../../support/worlds/config-folder.ts';

// No file, no server, no connector, and no variable of this config exists.
const CONFIG = `target:
  baseUrl: \${NO_SUCH_URL}
  apiKey: \${NO_SUCH_KEY}
ledger: \${NO_SUCH_FOLDER}/ledger.db
web: { token: "\${NO_SUCH_TOKEN}" }
sources:
  - id: erp
    connector: csv
    schedule: "\${NO_SUCH_SCHEDULE}"
    options: { access: { sftp: { user: erp, password: "\${NO_SUCH_PASSWORD}" } } }
    streams:
      products: { path: "sftp://\${NO_SUCH_HOST}/p.csv", key: [ID] }
      colours: { path: ./none.csv, key: [NO] }
    omit: [PRICE]
    lookups:
      colours: { stream: colours, key: NO, value: NAME }
    mappings:
      - stream: products
        to: product
        key: row.ID
        when: row.TYPE == "FERT"
        fields:
          sku: row.ID
          name: row.NAME
          country_of_origin: country(row.FROM)
          description: 'row.COLOUR == "" ? null : lookup("colours", row.COLOUR)'
          status: lookup("status.csv", row.STATUS)
  - id: shop
    connector: ./none.ts
    streams:
      orders: {}
      parts: {}
      labels: {}
    lookups:
      texts: { source: erp, stream: colours, key: [NO, POS], value: [NAME, CODE] }
    mappings:
      - { stream: orders, to: bom_item, each: row.parts, key: 'row.id + "/" + item.pos', refs: { product: row.id, material: item.no }, fields: { quantity: item.qty } }
      - { stream: parts, module: ./parts.ts }
      - { stream: labels, to: material, key: row.id, fields: { name: 'lookup("texts", [row.id, row.pos]).NAME' } }
`;
const FILES = {
  'dpp-sync.yaml': CONFIG,
  'status.csv': 'key,value\n10,DRAFT\n20,ACTIVE\n',
  'parts.ts': `export default {
  map(row, { stream, tools }) {
    if (row.id === 'bad') return { issues: [{ code: 'parts.bad', message: 'A bad part.', field: 'id' }] };
    return [{ kind: 'material', key: row.id, payload: { name: stream + ' ' + row.name, category: tools.decimal(row.weight, ',') } }];
  },
};
`,
};
const ROW = 'ID: "1", TYPE: FERT, NAME: Pump, FROM: Sweden, COLOUR: "", STATUS: "20"';

const caseOf = (name: string, given: string, expected: string) =>
  `  - name: ${name}\n    given: { ${given} }\n    expect: { ${expected} }\n`;
const product = (row: string, expected: string, name = 'a product') =>
  caseOf(name, `stream: products, row: { ${row} }`, expected);
const MADE =
  'items: [{ kind: product, key: "1", fields: { sku: "1", name: Pump, country_of_origin: SE, status: ACTIVE } }]';

interface Tested {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  folder: string;
}

/** Runs the cases beside the config, in a folder with these files. */
async function test(cases: string, ...args: string[]): Promise<Tested> {
  const folder = configFolder({ ...FILES, 'dpp-sync.cases.yaml': `cases:\n${cases}` });
  const { exitCode, stdout, stderr } = await runHere(['test', '-c', join(folder, 'dpp-sync.yaml'), ...args]);
  const short = (text: string) => text.replaceAll(`${folder}/`, '');
  return { exitCode, stdout: short(stdout), stderr: short(stderr), folder };
}

interface Document {
  ok: boolean;
  cases: {
    name: string;
    result: string;
    line: number | null;
    differences: { path: string; expected?: unknown; got?: unknown }[];
  }[];
  passed: number;
  failed: number;
  untested: string[];
}

async function documentOf(cases: string): Promise<Document & Pick<Tested, 'exitCode'>> {
  const { exitCode, stdout, stderr } = await test(cases, '--json');
  expect(stderr).toBe('');
  return { ...(JSON.parse(stdout) as Document), exitCode };
}

describe('test', () => {
  it('test runs cases of expressions, lists, modules and lookups without a key, a source, a ledger or a variable', async () => {
    const cases = [
      product(ROW, MADE),
      product('ID: "9", TYPE: DIEN', 'excluded: true', 'a service'),
      product(
        ROW.replace('Sweden', 'Swedn'),
        'issue: { code: country.unknown, field: country_of_origin, value: Swedn }',
        'a country',
      ),
      product(ROW.replace('ID: "1"', 'ID: " "'), 'issue: { code: record.key }', 'an empty key'),
      caseOf(
        'a colour',
        `stream: products, row: { ${ROW.replace('""', '"R"')} }, lookups: { colours: [{ NO: R, NAME: red }] }`,
        MADE.replace('SE,', 'SE, description: red,'),
      ),
      caseOf(
        'two parts',
        'stream: orders, row: { id: P, parts: [{ pos: 10, no: M1, qty: 2.50 }, { pos: 20, no: M2, qty: 1 }] }',
        'items: [{ kind: bom_item, key: P/20, fields: { quantity: 1 } }, { kind: bom_item, key: P/10, fields: { quantity: "2.5" }, refs: { product: P, material: M1 } }]',
      ),
      caseOf(
        'a part',
        'stream: parts, row: { id: M1, name: Steel, weight: "1,50" }',
        'items: [{ kind: material, key: M1, fields: { name: parts Steel, category: "1.5" } }]',
      ),
      caseOf(
        'a table over a stream of another source',
        'stream: labels, row: { id: M1, pos: 1 }, lookups: { texts: [{ NO: M1, POS: "1", NAME: Steel, CODE: "" }, { NO: M1, POS: "2", NAME: Zinc, CODE: "" }] }',
        'items: [{ kind: material, key: M1, fields: { name: Steel } }]',
      ),
      caseOf('a bad part', 'stream: parts, row: { id: bad }', 'issue: { code: parts.bad, field: id }'),
    ];
    const { exitCode, cases: results, ...document } = await documentOf(cases.join(''));
    expect(results.filter(({ result }) => result !== 'passed')).toEqual([]);
    expect({ exitCode, ...document }).toEqual({ exitCode: 0, ok: true, passed: cases.length, failed: 0, untested: [] });
  });

  it('test shows a changed result as a difference, with the line of what was expected', async () => {
    const changed = product(ROW, MADE.replace('Pump', 'Pumpe').replace(', status: ACTIVE', ''), 'a changed product');
    const { exitCode, stdout, stderr } = await test(`${product(ROW, MADE)}${changed}`);
    expect(exitCode).toBe(1);
    expect(stdout).toBe(`dpp-sync.cases.yaml
  ✓ a product
  ✗ a changed product  dpp-sync.cases.yaml:5
      product 1, name (line 7)
        expected  "Pumpe"
        got       "Pump"
      product 1, status (line 7)
        expected  nothing
        got       "ACTIVE"

2 cases: 1 passed, 1 failed
`);
    expect(stderr).toBe('No case tests the mappings of shop/orders, shop/parts, shop/labels.\n');
  });

  it('test says in its document what each case expected and got', async () => {
    const { exitCode, ok, cases, passed, failed, untested } = await documentOf(
      product(ROW, MADE.replace('SE', 'DE')) + product(ROW.replace('"20"', '"30"'), MADE, 'a status'),
    );
    expect({ exitCode, ok, passed, failed, untested }).toEqual({
      exitCode: 1,
      ok: false,
      passed: 0,
      failed: 2,
      untested: ['shop/orders', 'shop/parts', 'shop/labels'],
    });
    expect(cases).toMatchObject([
      {
        line: 2,
        name: 'a product',
        source: 'erp',
        stream: 'products',
        result: 'failed',
        differences: [
          {
            path: 'items[0].fields.country_of_origin',
            line: 4,
            item: { kind: 'product', key: '1' },
            expected: 'DE',
            got: 'SE',
          },
        ],
      },
      { line: 5, differences: [{ path: 'issue[0]', item: null, got: { code: 'lookup.unknown', field: 'status' } }] },
    ]);
    expect(cases[1]?.differences[0]).not.toHaveProperty('expected');
  });

  it('test never uses a column that is not stored, as a sync never does', async () => {
    const text = CONFIG.replace('name: row.NAME', `name: 'row.exists(c, c == "PRICE") ? "stored" : "left out"'`);
    const folder = configFolder({
      ...FILES,
      'dpp-sync.yaml': text,
      'a.yaml': `cases:\n${product(`${ROW}, PRICE: "7"`, 'issue: { code: x }')}`,
    });
    const { stdout } = await runHere(['test', join(folder, 'a.yaml'), '-c', join(folder, 'dpp-sync.yaml')]);
    expect(stdout).toContain('left out');
    expect(stdout).not.toContain('stored');
  });

  it('test names the lookup table of which a failed case gives no rows', async () => {
    const { exitCode, stdout } = await test(product(ROW.replace('""', '"R"'), MADE));
    expect(exitCode).toBe(1);
    expect(stdout).toContain('The lookup table "colours" (erp/colours) has no entry for "R".');
    expect(stdout).toContain('The case gives no rows of the lookup table colours: add them at given.lookups.colours.');
  });

  it('test says of a row that is excluded which mappings do not take it', async () => {
    const { stdout } = await test(product(ROW.replace('FERT', 'DIEN'), MADE) + product(ROW, 'excluded: true', 'b'));
    expect(stdout).toContain(`      excluded (line 4)
        expected  false
        got       true
      mappings[0]: when is false: row.TYPE == "FERT"
`);
    expect(stdout).toContain(`      excluded (line 7)
        expected  true
        got       false
      product 1 (line 7)
        expected  nothing
        got       product 1 {"sku":"1",`);
  });

  it('test shows of two long texts the part in which they differ', async () => {
    const long = 'x'.repeat(300);
    const { stdout } = await test(product(ROW.replace('Pump', `${long}A end`), MADE.replace('Pump', `${long}B end`)));
    expect(stdout).toContain(`expected  …"${'x'.repeat(30)}B end"\n`);
    expect(stdout).toContain(`got       …"${'x'.repeat(30)}A end"\n`);
  });

  it('test runs the cases of the files that are named, and writes JUnit XML', async () => {
    const folder = configFolder({
      ...FILES,
      'cases/a.yaml': `cases:\n${product(ROW, MADE)}`,
      'cases/b.yaml': `cases:\n${product(ROW, 'excluded: true')}`,
    });
    const junit = join(folder, 'results.xml');
    const config = join(folder, 'dpp-sync.yaml');
    const files = ['a', 'b'].map((name) => join(folder, `cases/${name}.yaml`));
    const { exitCode, json } = await runHere(['test', ...files, '-c', config, '--json', '--junit', junit]);
    expect(exitCode).toBe(1);
    expect(json()).toMatchObject({ cases: files.map((file) => ({ file })), passed: 1, failed: 1 });
    expect(readFileSync(junit, 'utf8')).toMatch(/<testsuites name="dpp-sync test" tests="2" failures="1"/);
    const unwritable = await runHere(['test', ...files, '-c', config, '--junit', join(folder, 'none/results.xml')]);
    expect(unwritable).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('With --junit, name a file') });
  });

  it('test ends with 2 without a file, with all problems of all files, and with a wrong mapping', async () => {
    const folder = configFolder({
      ...FILES,
      'a.yaml': `cases:\n${product(ROW, MADE.replace('key:', 'kee:'))}`,
      'b.yaml': '',
      'wrong.yaml': CONFIG.replace('row.NAME', 'row.NAME +'),
      'wrong.cases.yaml': `cases:\n${product(ROW, MADE)}`,
    });
    const run = (...args: string[]) => runHere(['test', ...args, '--json']);
    const config = join(folder, 'dpp-sync.yaml');
    const none = await run('-c', config);
    expect(none.exitCode).toBe(2);
    expect(none.json()).toMatchObject({
      ok: false,
      error: {
        code: 'cases.missing',
        message: expect.stringContaining(`There is no file of cases: ${join(folder, 'dpp-sync.cases.yaml')}.`),
      },
    });
    const invalid = await run(join(folder, 'a.yaml'), join(folder, 'b.yaml'), '-c', config);
    expect(invalid.exitCode).toBe(2);
    const { error } = invalid.json() as { error: { code: string; path: string; message: string } };
    expect(error).toMatchObject({ code: 'cases.invalid', path: 'cases[0].expect.items[0].key' });
    expect(error.message).toContain('a.yaml has 2 problems:\n  cases[0].expect.items[0].key (line 4): found nothing');
    expect(error.message).toContain(
      '.kee (line 4): found an unknown key, expected one of kind, key, fields, refs. Did you mean key?',
    );
    expect(error.message).toContain('b.yaml has a problem:\n  cases: found nothing, expected a list of cases.');
    const wrong = await run('-c', join(folder, 'wrong.yaml'));
    expect(wrong.exitCode).toBe(2);
    const line = CONFIG.split('\n').findIndex((text) => text.includes('row.NAME')) + 1;
    expect(wrong.json()).toMatchObject({
      error: {
        code: 'mapping.invalid',
        path: 'sources[0].mappings[0].fields.name',
        message: expect.stringContaining(
          `wrong.yaml has a problem:\n  sources[0].mappings[0].fields.name (line ${line}): The expression`,
        ),
      },
    });
  });

  it.each([
    [['--source', 'erp'], '--source is only for --record.'],
    [['--stream', 'a'], '--stream is only for --record.'],
    [['--record', 'A', '--junit', 'r.xml'], '--junit is not for --record, which runs no cases.'],
    [['a.yaml', 'b.yaml', '--record', 'A'], '--record writes into one file, and several are named.'],
  ])('test refuses options that do not fit together: %j', async (args, message) => {
    const { exitCode, json } = await runHere(['test', ...args, '--json']);
    expect({ exitCode, document: json() }).toMatchObject({
      exitCode: 2,
      document: { error: { code: 'usage', message: expect.stringContaining(message) } },
    });
  });
});

it('the cases that this package ships pass, and those of configs that people copy test each mapping', async () => {
  const files = globSync('config/**/*.cases.yaml', { cwd: REPOSITORY }).filter(
    (file) => !file.includes('node_modules'),
  );
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const config = join(REPOSITORY, file.replace('.cases.yaml', '.yaml'));
    expect(existsSync(config), config).toBe(true);
    const { exitCode, json } = await runHere(['test', '-c', config, '--json']);
    expect({ file, exitCode, document: json() }).toMatchObject({ exitCode: 0, document: { untested: [] } });
  }
});
