import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadBuiltIn } from '../../../connectors/index.ts';
import { CasesFile } from '../../../src/config/cases.ts';
import { Config } from '../../../src/config/config.ts';
import { type SchemaTree, schemaTreeOf } from '../../../src/config/schema/schema-walk.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { JsonValue } from '../../../src/lib/json.ts';
import { casesJsonSchema, configJsonSchema } from '../../generate/config-page.ts';
import { generatedFiles } from '../../generate/generated-files.ts';
import { REPOSITORY } from '../../support/worlds/config-folder.ts';

function undescribed(tree: SchemaTree, path: string): string[] {
  return Object.entries(tree.properties ?? {}).flatMap(([name, member]) => {
    const at = `${path}.${name}`;
    return [
      ...(member.description ? [] : [at]),
      ...undescribed(member, at),
      ...undescribed(member.items ?? {}, `${at}[]`),
    ];
  });
}

/** The part of a document to which a reference such as `#/$defs/JsonValue` leads; undefined if it leads nowhere. */
function partAt(document: unknown, reference: string): unknown {
  return reference
    .replace('#/', '')
    .split('/')
    .reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], document);
}

/** Each `$ref` within a value. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : referencesIn(member),
  );
}

/** A small validator of JSON Schema. It knows the keywords of the generated schema, and reports an error for any other keyword. */
function violations(tree: SchemaTree, value: unknown, path = '', root = tree): string[] {
  const found: string[] = [];
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const members = isObject ? (value as Record<string, unknown>) : {};
  for (const [keyword, rule] of Object.entries(tree)) {
    switch (keyword) {
      case 'type':
        if (![rule].flat().some((one) => one === type || (one === 'integer' && Number.isInteger(value)))) {
          found.push(`${path}: ${type} for ${String(rule)}`);
        }
        break;
      case 'const':
        if (rule !== value) found.push(`${path}: not ${String(rule)}`);
        break;
      case 'enum':
        if (!tree.enum?.includes(value)) found.push(`${path}: not in the list`);
        break;
      case 'required':
        for (const name of isObject ? (tree.required ?? []) : [])
          if (!(name in members)) found.push(`${path}.${name}: missing`);
        break;
      case 'properties':
        for (const [name, member] of Object.entries(tree.properties ?? {})) {
          if (name in members) found.push(...violations(member, members[name], `${path}.${name}`, root));
        }
        break;
      case 'additionalProperties':
        for (const name of Object.keys(members)) {
          if (tree.properties && Object.hasOwn(tree.properties, name)) continue;
          if (rule === false) found.push(`${path}.${name}: unknown`);
          if (typeof rule === 'object')
            found.push(...violations(rule as SchemaTree, members[name], `${path}.${name}`, root));
        }
        break;
      case 'items':
        if (Array.isArray(value))
          found.push(...value.flatMap((entry, at) => violations(rule as SchemaTree, entry, `${path}[${at}]`, root)));
        break;
      case 'anyOf':
        if (!tree.anyOf?.some((form) => fits(form, value, root))) found.push(`${path}: no form fits`);
        break;
      case '$ref':
        found.push(...violations(partAt(root, String(rule)) as SchemaTree, value, path, root));
        break;
      case 'allOf':
        found.push(...(tree.allOf ?? []).flatMap((form) => violations(form, value, path, root)));
        break;
      case 'if':
        if (fits(rule as SchemaTree, value, root))
          found.push(...violations(tree['then'] as SchemaTree, value, path, root));
        break;
      case 'pattern':
        if (typeof value === 'string' && !new RegExp(String(rule)).test(value)) found.push(`${path}: pattern`);
        break;
      case 'maxItems':
        if (Array.isArray(value) && value.length > Number(rule)) found.push(`${path}: too many`);
        break;
      case 'minItems':
        if (Array.isArray(value) && value.length < Number(rule)) found.push(`${path}: too few`);
        break;
      case 'minLength':
        if (typeof value === 'string' && value.length < Number(rule)) found.push(`${path}: too short`);
        break;
      case 'minimum':
        if (typeof value === 'number' && value < Number(rule)) found.push(`${path}: too small`);
        break;
      case 'exclusiveMinimum':
        if (typeof value === 'number' && value <= Number(rule)) found.push(`${path}: too small`);
        break;
      case 'maximum':
        if (typeof value === 'number' && value > Number(rule)) found.push(`${path}: too large`);
        break;
      case 'then':
      case 'maxLength':
      case 'propertyNames':
      case 'description':
      case 'default':
      case 'secret':
      case 'title':
      case '$schema':
      case '$id':
      case '$defs':
      case 'format':
        break;
      default:
        throw new Error(`the keyword ${keyword} at ${path} is not known here`);
    }
  }
  return found;
}

const fits = (tree: SchemaTree, value: unknown, root: SchemaTree): boolean =>
  violations(tree, value, '', root).length === 0;

const connectors = await loadBuiltIn();

describe('what is generated from the config tree', () => {
  it.each(Object.keys(generatedFiles()))('%s is as the code says (else: npm run generate)', (path) => {
    expect(readFileSync(join(REPOSITORY, path), 'utf8')).toBe(generatedFiles()[path]);
  });

  it.each(Object.keys(generatedFiles()).filter((path) => path.endsWith('.json')))(
    'each reference in %s leads to a part of the document',
    (path) => {
      const document = JSON.parse(generatedFiles()[path] ?? '') as JsonValue;
      expect(referencesIn(document).filter((reference) => partAt(document, reference) === undefined)).toEqual([]);
    },
  );

  it('the generated documents describe every key of the config, the profile and the connectors', () => {
    const trees = [
      Config,
      Profile,
      CasesFile,
      ...connectors.flatMap((connector) => [connector.options, connector.streamOptions]),
    ];
    expect(trees.flatMap((tree) => undescribed(schemaTreeOf(tree), ''))).toEqual([]);
  });
});

describe('the JSON Schema', () => {
  const schema = configJsonSchema(connectors);
  const example = parse(readFileSync(join(REPOSITORY, 'config/dpp-sync.example.yaml'), 'utf8')) as Record<
    string,
    never
  >;

  const shipped = ['dpp-sync.example.yaml', 'dpp-sync.container.yaml', 'demo/dpp-sync.yaml'];
  const presets = readdirSync(join(REPOSITORY, 'config/presets')).map((name) => `presets/${name}`);

  it.each([...shipped, ...presets])('the JSON Schema fits config/%s', (path) => {
    expect(violations(schema, parse(readFileSync(join(REPOSITORY, 'config', path), 'utf8'), { merge: true }))).toEqual(
      [],
    );
  });

  it.each([
    ['an unknown key', ['target', 'baseURL'], 'x', 'baseURL: unknown'],
    ['an unknown connector', ['sources', '0', 'connector'], 'cvs', 'connector'],
    ["an option that is not the connector's", ['sources', '0', 'options', 'delimter'], ';', 'delimter: unknown'],
    ["a stream option that is not the connector's", ['sources', '0', 'streams', 'boms', 'pth'], 'x', 'pth: unknown'],
    ['a value that is none', ['passports', 'publish'], 'maybe', 'publish: no form fits'],
    ['a number out of range', ['web', 'port'], 70_000, 'port: no form fits'],
    ['a mapping without fields', ['sources', '0', 'mappings', '0', 'fields'], undefined, 'mappings[0]: no form fits'],
  ])('the JSON Schema rejects %s', (_what, path, value, violation) => {
    const changed = structuredClone(example);
    const holder = path
      .slice(0, -1)
      .reduce<Record<string, unknown>>((at, name) => at[name] as Record<string, unknown>, changed);
    const last = String(path.at(-1));
    if (value === undefined) delete holder[last];
    else holder[last] = value;
    expect(violations(schema, changed).join('\n')).toContain(violation);
  });

  it('the JSON Schema of cases fits the cases of the example config, and rejects others', () => {
    const cases = parse(readFileSync(join(REPOSITORY, 'config/dpp-sync.example.cases.yaml'), 'utf8')) as {
      cases: [{ given: object; expect: object }];
    };
    expect(violations(casesJsonSchema(), cases)).toEqual([]);
    const [first] = cases.cases;
    const changed = { cases: [{ ...first, given: { ...first.given, rows: [] }, expect: { excluded: false } }] };
    expect(violations(casesJsonSchema(), changed)).toEqual([
      '.cases[0].given.rows: unknown',
      '.cases[0].expect.excluded: not true',
    ]);
  });

  it('the JSON Schema lets a placeholder stand for any value', () => {
    const changed = { ...example, web: { port: '${PORT}', token: '${T}' }, passports: { publish: '${PUBLISH:-auto}' } };
    expect(violations(schema, changed)).toEqual([]);
    const page = { by: 'offset', size: '${SIZE}' };
    const source = {
      id: 'erp',
      connector: 'rest',
      options: { base: '${URL}', get: 'items', key: ['id'], page, query: { limit: '{{size}}' }, changes: '${CHANGES}' },
      mappings: [{ to: 'product', key: 'row.id', fields: {} }],
    };
    expect(violations(schema, { target: example['target'], sources: [source] })).toEqual([]);
  });
});
