// What `npm run generate` makes from the schema of the config: the page about it, and its JSON Schema.

import { CasesFile } from '../../src/config/cases.ts';
import { Config, StreamKey } from '../../src/config/config.ts';
import type { ConnectorSchemas } from '../../src/config/connectors.ts';
import { type SchemaTree, schemaTreeOf } from '../../src/config/schema/schema-walk.ts';
import { FIELD_TYPES, fieldNamesOf, ITEM_FIELDS, ITEM_KINDS } from '../../src/domain/item.ts';
import { Profile } from '../../src/domain/profile.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { shareDefinitions } from '../../src/lib/json-schema.ts';
import { cell, schemaSections } from './schema-tables.ts';

const INTRODUCTION = `# Configuration

This page is generated from the code (\`npm run generate\`). Change the descriptions there.

The config is one file in YAML or JSON: \`dpp-sync.yaml\` in the working folder, or the file that \`-c FILE\` names. This is the smallest
config:

\`\`\`yaml
target:
  baseUrl: https://dpp.example.com
  apiKey: \${file:/run/secrets/dpp_api_key}
sources:
  - id: erp
    connector: csv
    streams:
      products: { path: ./exports/products.csv, key: [MATNR] }
    mappings:
      - stream: products
        to: product
        key: row.MATNR
        fields: { sku: row.MATNR, name: row.MAKTX }
\`\`\`

[\`config/dpp-sync.example.yaml\`](../config/dpp-sync.example.yaml) is a longer example with comments. With
[\`config/dpp-sync.schema.json\`](../config/dpp-sync.schema.json) an editor completes keys and shows their descriptions. \`dpp-sync init\` names it in the
first line. In another config write \`# yaml-language-server: $schema=./node_modules/dpp-sync/config/dpp-sync.schema.json\` there.

\`dpp-sync check\` reports all problems of the config at once. For each problem it names the key, the line, the value that was found, and
the value that was expected. An unknown key is a problem too.

## Values from outside

The text of a value may contain placeholders. The name of a key may not contain any.

| placeholder | becomes |
|---|---|
| \`\${VAR}\` | the environment variable; a problem if it is not set |
| \`\${VAR:-default}\` | the environment variable, or the default if the variable is not set or empty |
| \`\${file:/path}\` | the content of a file without its last line end; a problem if it cannot be read |
| \`\${file:/path:-default}\` | the content of a file, or the default if the file does not exist or is empty |
| \`$\${\` | the characters \`\${\` themselves |

Placeholders in the content of a variable or a file are not replaced, and a placeholder has no other one in it. If a placeholder is the whole
value, it takes the type that the key expects, so \`port: \${PORT}\` is a number. Paths are relative to the folder of the config file.

YAML would read the value in \`[0123]\` as a number and change it. dpp-sync keeps it as the text "0123".

Values that several places share can be written once: \`&name\` before a value gives it a name, \`*name\` stands for it, and
\`<<: *name\` adds its members to those of another place. A member that this place has itself is kept:

\`\`\`yaml
sources:
  - id: erp
    connector: csv
    streams:
      products: &export { path: ./products-*.csv, files: latest, key: [MATNR] }
      materials: { <<: *export, path: ./materials-*.csv }
    mappings:
      - { stream: products, to: product, key: row.MATNR, fields: { sku: row.MATNR, name: row.MAKTX } }
      - { stream: materials, to: material, key: row.MATNR, fields: { code: row.MATNR, name: row.MAKTX } }
\`\`\`

## Secrets

These values are secrets: the keys that are marked as secret below, all values from \`\${file:…}\`, and all variables whose names contain
\`KEY\`, \`TOKEN\`, \`SECRET\` or \`PASSWORD\`.

- dpp-sync never shows, logs or stores a secret. If a secret has more than 12 characters, dpp-sync may show the first 8 of them.
- dpp-sync also removes secrets from texts that other systems send back. A secret of fewer than 8 characters is not removed, because it
  could be ordinary text; \`check\` warns of such a secret. If a secret has 16 characters or more, dpp-sync also removes any 6 consecutive
  characters of it, unless these are a plain word or a sequence such as \`123456\`.
- Ids, keys, paths and addresses are never changed. An id of the platform is refused only if it contains a whole API key, or 16 consecutive
  characters of a secret. It does not matter how an id begins: \`dpp_12345\` is an id.
- When the API rejects a key, dpp-sync reads the key again from its file or variable.
`;

/** The page that describes every key of the config file and of profiles. Connectors have separate pages. */
export function configReference(connectors: readonly { id: string; title: string }[]): string {
  const parts = [INTRODUCTION, '## The config file\n', ...schemaSections(schemaTreeOf(Config))];
  parts.push(FIELDS_TITLE, fieldsTable(), CONNECTORS_TITLE);
  parts.push(connectors.map(({ id, title }) => `- [\`${id}\`](connectors/${id}.md): ${title}`).join('\n'));
  parts.push(PROFILES_TITLE, ...schemaSections(schemaTreeOf(Profile)));
  return `${parts.join('\n').trimEnd()}\n`;
}

const CONNECTORS_TITLE = `## Connectors

The connector of a source decides what its \`options\` and its streams may contain. Each connector has a page. [Where files come
from](connectors/files.md) has the options that all connectors for files share.
`;

const FIELDS_TITLE = `## Fields of items

\`fields\` of a mapping may use these names. \`extraFields\` of a profile adds others. Fields in bold are required.
`;

const PROFILES_TITLE = `
## Profiles

A profile says what dpp-sync assumes where the API document is silent. \`target.profile\` names a profile in \`config/profiles\`, or a file of
your own. Such a file begins with \`extends: default\` and has only the values that differ: its objects are merged into the default, and its
lists and single values replace those of the default. [\`config/profiles/default.yaml\`](../config/profiles/default.yaml) shows most of the values in one file.
`;

function fieldsTable(): string {
  const rows = ITEM_KINDS.flatMap((kind) => {
    const required = (name: string) =>
      !(ITEM_FIELDS[kind] as Record<string, { safeParse(value: unknown): { success: boolean } }>)[name]?.safeParse(
        undefined,
      ).success;
    const types: Readonly<Record<string, string>> = FIELD_TYPES[kind];
    return fieldNamesOf(kind).map((name) => {
      const field = required(name) ? `**\`${name}\`**` : `\`${name}\``;
      return `| \`${kind}\` | ${field} | ${cell(types[name] ?? '')} |`;
    });
  });
  return ['| kind | field | what it takes |', '|---|---|---|', ...rows, ''].join('\n');
}

const PLACEHOLDER: SchemaTree = { type: 'string', pattern: '\\$\\{' };

/**
 * The JSON Schema of the config file, for completion and hints in editors. It is a little more lenient than
 * `loadConfig`: placeholders may stand for values of any type, and it does not have all rules across fields.
 */
export function configJsonSchema(connectors: readonly ConnectorSchemas[]): SchemaTree {
  const config = withPlaceholders(schemaTreeOf(Config));
  const source = config.properties?.['sources']?.items;
  const mapping = source?.properties?.['mappings']?.items;
  if (!source?.properties || !mapping) throw new Error('the config tree has no sources or mappings');
  source.properties['connector'] = {
    ...source.properties['connector'],
    anyOf: [{ enum: connectors.map((connector) => connector.id) }, PLACEHOLDER],
  };
  const $defs: JsonObject = {};
  source.allOf = connectors.map((connector) => connectorRule(connector, $defs));
  mapping.anyOf = [{ required: ['module'] }, { required: ['to', 'key', 'fields'] }];
  mapping.allOf = ITEM_KINDS.map((kind) => ({
    if: { properties: { to: { const: kind } }, required: ['to'] },
    // Other fields are allowed too, because a profile may add fields.
    // oxlint-disable-next-line unicorn/no-thenable
    then: { properties: { fields: { properties: Object.fromEntries(fieldNamesOf(kind).map((name) => [name, {}])) } } },
  }));
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:dpp-sync:config',
    title: 'dpp-sync.yaml',
    description: 'The config file of dpp-sync. Generated; see docs/configuration.md.',
    ...config,
    $defs,
  };
}

/** The JSON Schema of a file of cases, for completion and hints in editors. */
export function casesJsonSchema(): SchemaTree {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:dpp-sync:cases',
    title: 'dpp-sync.cases.yaml',
    description: 'Cases of the mappings of dpp-sync. Generated; see docs/tests.md.',
    ...schemaTreeOf(CasesFile),
  };
}

/**
 * The rule for a connector: if a source uses it, its options must fit. Without `streams`, the options of the single
 * stream are among them.
 *
 * @param $defs gets the definitions of the connector's schemas
 */
function connectorRule(connector: ConnectorSchemas, $defs: JsonObject): SchemaTree {
  const ruleOf = (schema: ConnectorSchemas['options']): SchemaTree =>
    withPlaceholders(shareDefinitions(schemaTreeOf(schema) as JsonObject, '#/$defs', $defs) as SchemaTree);
  const { properties: options = {} } = ruleOf(connector.options);
  const { properties: stream = {}, required = [] } = ruleOf(connector.streamOptions);
  const key = schemaTreeOf(StreamKey);
  return {
    if: { properties: { connector: { const: connector.id } }, required: ['connector'] },
    // oxlint-disable-next-line unicorn/no-thenable
    then: {
      properties: {
        options: { properties: { ...stream, ...options, key }, additionalProperties: false },
        streams: { additionalProperties: { properties: { key, ...stream }, required, additionalProperties: false } },
      },
    },
  };
}

/** Allows a placeholder wherever the value of a plain type is restricted. */
function withPlaceholders(tree: SchemaTree): SchemaTree {
  const { description, default: fallback, ...rest } = tree;
  const about = {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
  if (isRestricted(rest)) return { ...about, anyOf: [rest, PLACEHOLDER] };
  const inner: SchemaTree = { ...about, ...rest };
  if (tree.properties) {
    const members = Object.entries(tree.properties).map(([name, member]) => [name, withPlaceholders(member)]);
    inner.properties = Object.fromEntries(members) as Record<string, SchemaTree>;
  }
  if (tree.items) inner.items = withPlaceholders(tree.items);
  if (typeof tree.additionalProperties === 'object') {
    inner.additionalProperties = withPlaceholders(tree.additionalProperties);
  }
  // Where a placeholder decides between forms, several of them fit.
  const { oneOf, anyOf = oneOf } = inner;
  if (anyOf) inner.anyOf = [...anyOf.map(withPlaceholders), PLACEHOLDER];
  delete inner.oneOf;
  return inner;
}

function isRestricted(tree: SchemaTree): boolean {
  if (tree.enum !== undefined || tree.const !== undefined) return true;
  if (tree.type === 'string') return 'pattern' in tree || 'format' in tree || Number(tree['minLength'] ?? 0) > 1;
  return tree.type === 'number' || tree.type === 'integer' || tree.type === 'boolean';
}
