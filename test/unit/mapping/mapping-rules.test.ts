import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Draft, issuesOf, itemsOf, mapperOf, mapRow, problemsOf } from '../../support/connectors/map-row.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const PRODUCT: Draft = {
  to: 'product',
  key: 'row.sku',
  fields: { sku: 'row.sku', name: 'row.sku', weight: 'row.w', dims: 'row.d' },
};
const withRules = (rules: Draft['rules']): Draft => ({ ...PRODUCT, rules: rules ?? {} });
const row = (w: string | number | null, more = {}) => ({ sku: 'A', w, d: null, ...more });

describe('value rules', () => {
  it.each([
    [{ min: '0' }, '-3.2', 'rule.min', 'weight is -3.2, and the rules of the mapping allow no less than 0.'],
    [{ max: '100' }, 130, 'rule.max', 'weight is 130, and the rules of the mapping allow no more than 100.'],
    [{ min: '0' }, 'heavy', 'rule.number', 'weight has to be a number, but it is "heavy".'],
    [{ pattern: '^[0-9]+ kg$' }, '3 lb', 'rule.pattern', 'weight is "3 lb", which does not match ^[0-9]+ kg$.'],
    [{ required: true }, '', 'rule.required', 'weight is required by the rules of the mapping'],
    [{ required: true, empty: ['n/a'] }, ' n/a', 'rule.required', 'weight is required by the rules of the mapping'],
  ])('the value rules %j refuse %j', async (rule, value, code, message) => {
    const issues = issuesOf(await mapperOf([withRules({ weight: rule })]), row(value));
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ code, field: 'weight', expression: 'row.w' });
    expect(issues[0]?.message).toContain(message);
    expect(issues[0]?.cure).toBeDefined();
  });

  it('value rules leave out values that count as none', async () => {
    const [item] = itemsOf(await mapperOf([withRules({ weight: { empty: ['-', '0'] } })]), row(0));
    expect(item?.payload).not.toHaveProperty('weight');
  });

  it('value rules reach the members of a field, and every entry of a list', async () => {
    const mapper = await mapperOf([withRules({ 'dims.length': { max: '10' } })]);
    const dims = [{ length: '3' }, { length: '30' }, { width: '99' }];
    expect(issuesOf(mapper, row('1', { d: dims })).map(({ code, field, value }) => [code, field, value])).toEqual([
      ['rule.max', 'dims.length', '30'],
    ]);
  });

  it('value rules compare decimals of any length by their value', async () => {
    const mapper = await mapperOf([withRules({ weight: { min: '-5', max: '5' } })]);
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat({ max: 40 }), (digits, places) => {
        const text = `${digits < 0n ? '-' : ''}${String(digits < 0n ? -digits : digits).padStart(places + 1, '0')}`;
        const value =
          places === 0 ? text : `${text.slice(0, text.length - places)}.${text.slice(text.length - places)}`;
        const limit = 5n * 10n ** BigInt(places);
        const isWithin = digits >= -limit && digits <= limit;
        expect(mapRow(mapper, row(value)).status).toBe(isWithin ? 'mapped' : 'quarantined');
      }),
    );
  });

  it('value rules have patterns that cannot be slow', async () => {
    const [problem] = await problemsOf([withRules({ weight: { pattern: '(?=a)' } })]);
    expect(problem?.path).toBe('sources[0].mappings[0].rules.weight.pattern');
    const mapper = await mapperOf([withRules({ weight: { pattern: '(a|aa|a.){100}b' } })]);
    expect(issuesOf(mapper, row('a'.repeat(100_000)))[0]?.message).toContain('steps');
  });
});

describe('a module', () => {
  let folder = '';
  const module = () => join(folder, 'map.mjs');
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dpp-module-'));
    const item = "{ kind: 'product', key: row.sku, payload: { sku: row.code, name: 'N', weight: row.w }, refs: [] }";
    await writeFile(module(), `export default { map: (row) => [${item}] };\n`);
  });
  afterAll(() => removeFolder(folder));
  const fields = { product: ['sku', 'name'], material: [], bom_item: [] };

  it('a mapping module gives only fields that the profile allows', async () => {
    const mapper = await mapperOf([{ module: module() }], folder, { fields });
    const [issue] = issuesOf(mapper, { sku: 'A', code: 'S', w: 1 });
    expect(issue).toMatchObject({ code: 'field.unknown', field: 'weight' });
    expect(issue?.cure).toContain('extraFields.product');
    expect(itemsOf(mapper, { sku: 'A', code: 'S', w: null })).toHaveLength(1);
  });

  it('a mapping module has to keep the rules of its mapping, and its numbers become text as those of expressions', async () => {
    const mapper = await mapperOf([{ module: module(), rules: { weight: { min: '0' } } }], folder);
    expect(issuesOf(mapper, { sku: 'A', code: 'S', w: -3.2 })[0]?.code).toBe('rule.min');
    expect(itemsOf(mapper, { sku: 'A', code: 4711, w: 1 })[0]?.payload).toMatchObject({ sku: '4711', weight: 1 });
  });
});
