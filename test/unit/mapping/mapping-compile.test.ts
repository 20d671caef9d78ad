import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Mapper } from '../../../src/domain/mapping.ts';
import { compileMappings } from '../../../src/pipeline/mapping/compile-mappings.ts';
import { isOwnSource } from '../../../src/pipeline/mapping/load-module.ts';
import {
  type Draft,
  issuesOf,
  itemsOf,
  mapperOf,
  mapRow,
  problemsOf,
  productWith,
} from '../../support/connectors/map-row.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const SOURCE = join(import.meta.dirname, '../../../src');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dpp-mapping-'));
});
afterEach(async () => {
  await removeFolder(folder);
});

async function write(name: string, text: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

const lookupColour = () => mapperOf([productWith('lookup("colours.csv", row.C)')], folder);

describe('lookup files', () => {
  it.each([
    ['comma', 'key,value\n01,red\n"a, b",green\n\n'],
    ['semicolon', 'key;value\r\n01;red\r\n"a, b";green\r\n'],
    ['tab, byte order mark, upper case', '\ufeffKEY\tVALUE\n 01 \t red\na, b\tgreen\n'],
  ])('a lookup file is read as CSV: %s', async (_, text) => {
    await write('colours.csv', text);
    const mapper = await lookupColour();
    expect(itemsOf(mapper, { C: '01' })[0]?.payload.x).toBe('red');
    expect(itemsOf(mapper, { C: 'a, b' })[0]?.payload.x).toBe('green');
    expect(itemsOf(mapper, { C: '' })[0]?.payload).not.toHaveProperty('x');
    expect(issuesOf(mapper, { C: '1' })[0]).toMatchObject({
      code: 'lookup.unknown',
      message: 'The lookup file "colours.csv" has no entry for "1".',
    });
  });

  it('lookup files are read as JSON, beside and above the config file', async () => {
    await write('up/c.json', '{"1": "red", "2": 2.5}');
    const mapper = await mapperOf([productWith('lookup("../up/c.json", row.C, "none")')], join(folder, 'up'));
    expect([1, 2, 3].map((C) => itemsOf(mapper, { C })[0]?.payload.x)).toEqual(['red', '2.5', 'none']);
  });

  it.each([
    ['missing.csv', null, /does not exist/],
    ['t.txt', 'key,value\n', /\.csv or a \.json/],
    ['t.csv', 'code,name\n1,a\n', /this first line: key,value/],
    ['t.csv', 'key,value,more\n1,a,b\n', /two columns/],
    ['t.csv', 'key,value\n1,a\n1,b\n', /two values for the key "1" \(line 3\)/],
    ['t.csv', 'key,value\n1\n', /not valid CSV/],
    ['t.csv', new Uint8Array([0x6b, 0x65, 0x79, 0xfc]), /not UTF-8/],
    ['t.csv', `key,value\n${'x'.repeat(17_000_000)},1\n`, /is larger than 16777216 bytes\.$/],
    ['t.json', '[1]', /one JSON object/],
    ['t.json', '{', /not valid JSON/],
    ['t.json', '{"a": "x", "b": "y", "a": "z"}', /has the name "a" twice in one object\.$/],
    ['t.json', '{"a": true}', /neither text nor a safe number/],
  ])('a lookup file with a fault is refused at once: %s %#', async (name, text, message) => {
    if (text !== null) await write(name, text);
    const problems = await problemsOf([productWith('"x"'), productWith(`lookup("${name}", row.C)`)], folder);
    expect(problems).toEqual([{ path: 'sources[0].mappings[1].fields.x', message: expect.stringMatching(message) }]);
  });

  it('a lookup file in CSV form with a used column twice is refused', async () => {
    await write('t.csv', 'code,name,note,note\nDE,Germany,a,b\n');
    await write('u.csv', 'code,name,name\nDE,Deutschland,Germany\n');
    const compiled = (file: string) =>
      compileMappings({
        source: 'erp',
        definitions: [{ ...productWith('lookup("names", row.C)'), stream: 'products', path: 'sources[0].mappings[0]' }],
        baseDir: folder,
        lookups: { names: { file, key: ['code'], value: 'name' } },
      });
    const mapper = await compiled('t.csv');
    expect(mapper.ok && itemsOf(mapper.value, { C: 'DE' })[0]?.payload.x).toBe('Germany');
    expect(await compiled('u.csv')).toMatchObject({
      ok: false,
      error: [{ message: 'The lookup file "u.csv" has the column name twice.' }],
    });
  });

  it('changed lookup files take effect when mappings are compiled again, and the revision stays, since entries are compared', async () => {
    await write('colours.csv', 'key,value\n01,red\n');
    const first = await lookupColour();
    await write('colours.csv', 'key,value\n01,crimson\n');
    const second = await lookupColour();
    expect(second.revision).toBe(first.revision);
    expect(second.map(rowWith('01')).uses).not.toEqual(first.map(rowWith('01')).uses);
    expect(itemsOf(first, { C: '01' })[0]?.payload.x).toBe('red');
    expect(itemsOf(second, { C: '01' })[0]?.payload.x).toBe('crimson');
  });
});

function rowWith(C: string) {
  return { source: 'erp', stream: 'products', fields: { C }, place: {}, issues: [] };
}

describe('the revision', () => {
  const revisionOf = async (drafts: Draft[]) => (await mapperOf(drafts)).revision;

  it('the mapping revision changes with every expression, and with the order of mappings', async () => {
    const base: Draft = {
      to: 'bom_item',
      key: 'row.A',
      when: 'true',
      refs: { product: 'row.B', material: 'row.C' },
      fields: { quantity: '1' },
    };
    const other: Draft = { to: 'material', key: 'row.A', fields: { name: 'row.A' } };
    const variants: Draft[][] = [
      [base, other],
      [other, base],
      [base],
      [{ ...base, stream: 'boms' }, other],
      [{ ...base, key: 'row.D' }, other],
      [{ ...base, when: 'false' }, other],
      [{ ...base, refs: { product: 'row.B', component: 'row.C' } }, other],
      [{ ...base, fields: { quantity: '2' } }, other],
      [{ ...base, fields: { quantity: '1', unit: '"KGM"' } }, other],
    ];
    const revisions = await Promise.all(variants.map(revisionOf));
    expect(new Set(revisions).size).toBe(variants.length);
  });

  it('the mapping revision does not change with white space, the order of fields or the place in the config', async () => {
    const first = await revisionOf([{ to: 'product', key: 'row.A', fields: { sku: 'row.A', name: 'row.B' } }]);
    const second = await revisionOf([{ to: 'product', key: ' row.A\n', fields: { name: ' row.B', sku: 'row.A' } }]);
    expect(second).toBe(first);
  });
});

describe('a mapping module', () => {
  const PRODUCT = `{ kind: 'product', key: row.A, payload: { sku: row.A, name: 'N' }, refs: [] }`;
  const moduleOf = (body: string) => `export default { map(row, context) { ${body} } };\n`;
  const useModule = (path: string, extra: Partial<Draft> = {}): Promise<Mapper> =>
    mapperOf([{ module: path, ...extra }], folder);
  const mapperWith = async (body: string, extra: Partial<Draft> = {}) =>
    useModule(await write(`m-${body.length}.mjs`, moduleOf(body)), extra);

  it('a mapping module is written against the SDK in TypeScript and makes any number of items', async () => {
    const path = await write(
      'assembly.ts',
      `import { defineMapping, type Item } from '${SOURCE}/sdk/index.ts';
       export default defineMapping({
         map(row, { stream, place, tools }) {
           const items: Item[] = [];
           for (const [index, part] of (row.parts as { sku: string; qty: string }[]).entries()) {
             items.push({
               kind: 'bom_item',
               key: \`\${stream}:\${place.line}:\${index}\`,
               payload: { quantity: tools.decimal(part.qty), unit: tools.unit('ST'), valid_from: tools.date('') },
               refs: [
                 { role: 'product', kind: 'product', key: String(row.sku) },
                 { role: 'component', kind: 'product', key: part.sku },
               ],
             });
           }
           return items;
         },
       });`,
    );
    const mapper = await useModule(path);
    expect(mapRow(mapper, { parts: [], sku: 'A' })).toEqual({ status: 'excluded' });
    const items = itemsOf(mapper, {
      sku: 'A',
      parts: [
        { sku: 'B', qty: '1.50' },
        { sku: 'C', qty: '2' },
      ],
    });
    expect(items.map(({ key, payload }) => [key, payload])).toEqual([
      ['products:2:0', { quantity: '1.5', unit: 'C62' }],
      ['products:2:1', { quantity: '2', unit: 'C62' }],
    ]);
  });

  it('a mapping module may have a `when`, and nothing else beside it', async () => {
    const mapper = await mapperWith(`return [${PRODUCT}];`, { when: 'row.A != "no"' });
    expect(mapRow(mapper, { A: 'no' }).status).toBe('excluded');
    expect(mapRow(mapper, { A: 'yes' }).status).toBe('mapped');
    const path = await write('x.mjs', moduleOf('return [];'));
    const problems = await problemsOf([{ module: path, to: 'product', key: 'row.A', fields: { sku: 'x' } }], folder);
    expect(problems.map((problem) => problem.path)).toEqual(
      ['to', 'key', 'fields'].map((name) => `sources[0].mappings[0].${name}`),
    );
  });

  it('a mapping module cannot change the row for others', async () => {
    const spoil = await write('spoil.mjs', moduleOf(`row.A = 'spoilt'; row.O.list.push(1); delete row.B; return [];`));
    const mapper = await mapperOf([{ module: spoil }, productWith('row.B + string(size(row.O.list))')], folder);
    const row = { A: 'a', B: 'b', O: { list: [] } };
    expect(itemsOf(mapper, row)[0]?.payload.x).toBe('b0');
    expect(row).toEqual({ A: 'a', B: 'b', O: { list: [] } });
  });

  it.each([
    [`throw new Error('no luck')`, 'module.threw', /The mapping module threw: no luck/],
    [`throw 'text'`, 'module.threw', /text/],
    [`throw null`, 'module.threw', /null/],
    [`return (function again() { return again(); })()`, 'module.threw', /call stack/],
    [`return context.tools.country('QQ')`, 'country.unknown', /"QQ"/],
    [`return context.tools.lookup(row.A, 'x')`, 'lookup.table', /was not loaded/],
    [`return 5`, 'module.result', /a number that is not a list of items/],
    [`return null`, 'module.result', /null/],
    [`return Promise.reject(new Error('late'))`, 'module.result', /a promise; a mapping is synchronous/],
    [`return [{ kind: 'thing', key: 'k', payload: {}, refs: [] }]`, 'module.result', /kind/],
    [`return [{ kind: 'product', key: 'k', payload: 5, refs: [] }]`, 'module.result', /payload/],
    [`return [{ kind: 'product', key: 'k', payload: {}, refs: [], extra: 1 }]`, 'module.result', /extra/],
    [
      `return [{ kind: 'bom_item', key: 'k', payload: {}, refs: [{ role: 'product', kind: 'material', key: 'k' }] }]`,
      'module.result',
      /wrong kind/,
    ],
    [`return Array.from({ length: 1001 }, () => (${PRODUCT}))`, 'module.result', /1000/],
    [
      `return [{ kind: 'product', key: 'k', payload: { sku: 's', name: 'n', at: new Date() }, refs: [] }]`,
      'value.type',
      /point in time/,
    ],
    [
      `const a = {}; a.a = a; return [{ kind: 'product', key: 'k', payload: { sku: 's', name: 'n', a }, refs: [] }]`,
      'value.depth',
      /nested/,
    ],
    [`return [{ kind: 'product', key: 'k', payload: { sku: 's' }, refs: [] }]`, 'field.required', /name is required/],
    [`return { issues: [{ code: 'house.rule', message: 'Not ours.' }] }`, 'house.rule', /Not ours/],
    [`return { issues: [] }`, 'module.result', /issues/],
    [`return undefined`, 'module.result', /list of items: found nothing, expected an object\.$/],
    [
      `return [{ kind: 'product', key: 'k', payload: Object.fromEntries([['sku', 's'], ['name', 'n'], ['__proto__', {}]]), refs: [] }]`,
      'value.type',
      /names in an object/,
    ],
  ])('a mapping module that does "%s" quarantines the row: %s', async (body, code, message) => {
    const [issue] = issuesOf(await mapperWith(body), { A: 'a' });
    expect(issue).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('a mapping module whose item is wrong has each wrong field named', async () => {
    const body = `return [{ kind: 'product', key: 'k', payload: { sku: 's', name: NaN, status: () => 1 }, refs: [] }]`;
    expect(issuesOf(await mapperWith(body), { A: 'a' })).toMatchObject([
      {
        field: 'name',
        message: expect.stringMatching(/^name: The result NaN is not a number/),
        cure: 'Correct the value that the module gives for name.',
      },
      { field: 'status', message: expect.stringMatching(/^status: The result is a function/) },
    ]);
  });

  it('a mapping module may use lookup files that it names literally, in itself or in its imports', async () => {
    await write('colours.csv', 'key,value\n01,red\n');
    await write('lib/names.mjs', `export const nameOf = (row, tools) => tools.lookup("colours.csv", row.A);\n`);
    const path = await write(
      'm.mjs',
      `import { nameOf } from './lib/names.mjs';
       export default { map: (row, { tools }) => [{ kind: 'material', key: 'k', payload: { name: nameOf(row, tools) }, refs: [] }] };`,
    );
    const mapper = await useModule(path);
    expect(itemsOf(mapper, { A: '01' })[0]?.payload.name).toBe('red');
    await rm(join(folder, 'colours.csv'));
    expect((await problemsOf([{ module: path }], folder))[0]).toMatchObject({
      message: expect.stringMatching(/colours\.csv" does not exist/),
    });
  });

  it.each([
    ['missing.mjs', null, /does not exist/],
    ['broken.mjs', 'export default {', /cannot be loaded/],
    ['throws.mjs', 'throw new Error("at load");', /cannot be loaded: at load/],
    ['empty.mjs', 'export const map = 1;', /no default export with a map function/],
    ['large.mjs', `// ${'x'.repeat(1_100_000)}`, /is larger than 1048576 bytes/],
  ])('a mapping module that cannot be used is a problem: %s', async (name, text, message) => {
    if (text !== null) await write(name, text);
    const problems = await problemsOf([{ module: join(folder, name) }], folder);
    expect(problems).toEqual([{ path: 'sources[0].mappings[0].module', message: expect.stringMatching(message) }]);
  });

  it('a mapping module has a part in the revision, with all that it imports by relative path', async () => {
    await write('lib/b.mjs', 'export const b = 1;');
    await write('lib/a.mjs', `export * from './b.mjs';`);
    const path = await write('m.mjs', `import { b } from './lib/a.mjs';\n${moduleOf('return [];')}`);
    const first = await useModule(path);
    const same = await useModule(path);
    await write('lib/b.mjs', 'export const b = 2;');
    const second = await useModule(path);
    await write('m.mjs', `import { b } from './lib/a.mjs';\n${moduleOf('return [ ];')}`);
    const third = await useModule(path);
    expect(same.revision).toBe(first.revision);
    expect(new Set([first.revision, second.revision, third.revision]).size).toBe(3);
  });

  it('a mapping module is loaded again when it or one of its imports has changed, without a restart', async () => {
    await write('lib/name.ts', `export const NAME: string = 'first';\n`);
    const path = await write(
      'm.ts',
      `import { NAME } from './lib/name.ts';
       export default { map: () => [{ kind: 'material', key: 'k', payload: { name: NAME }, refs: [] }] };`,
    );
    const script = await write(
      'main.ts',
      `import { writeFile } from 'node:fs/promises';
       import { compileMappings } from '${SOURCE}/pipeline/mapping/compile-mappings.ts';
       const options = { definitions: [{ stream: 's', module: ${JSON.stringify(path)}, path: 'm' }], baseDir: ${JSON.stringify(folder)} };
       const nameNow = async () => {
         const compiled = await compileMappings(options);
         if (!compiled.ok) throw new Error(JSON.stringify(compiled.error));
         return JSON.stringify(compiled.value.map({ source: 'x', stream: 's', fields: {}, place: {}, issues: [] }));
       };
       console.log(await nameNow());
       await writeFile(${JSON.stringify(join(folder, 'lib/name.ts'))}, "export const NAME: string = 'second';\\n");
       console.log(await nameNow());`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [script]);
    expect(stdout.split('\n').map((line) => /"name":"(\w+)"/.exec(line)?.[1])).toEqual(['first', 'second', undefined]);
  });
});

it('the mapping revision counts the sources and the build of the program as its code, and nothing beside them', () => {
  const isOwn = (path: string): boolean => isOwnSource(join(SOURCE, '..', path));
  expect(['src/sdk/index.ts', 'dist/main.js'].filter((path) => !isOwn(path))).toEqual([]);
  expect(['config/mapping.ts', 'mapping.ts', 'distance/mapping.ts', 'src2/a.ts'].filter(isOwn)).toEqual([]);
});
