import { fieldNamesOf, ITEM_KINDS } from '../../domain/item.ts';
import { Config, StreamKey } from '../config.ts';
import type { ConnectorSchemas } from '../connector-loader.ts';
import { type SchemaTree, schemaTreeOf } from './schema-walk.ts';

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
  source.allOf = connectors.map(connectorRule);
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
  };
}

/**
 * The rule for a connector: if a source uses it, its options must fit. Without `streams`, the options of the single
 * stream are among them.
 */
function connectorRule(connector: ConnectorSchemas): SchemaTree {
  const options = withPlaceholders(schemaTreeOf(connector.options)).properties ?? {};
  const { properties: stream = {}, required = [] } = withPlaceholders(schemaTreeOf(connector.streamOptions));
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
  if (tree.anyOf) inner.anyOf = [...tree.anyOf, PLACEHOLDER];
  return inner;
}

function isRestricted(tree: SchemaTree): boolean {
  if (tree.enum !== undefined || tree.const !== undefined) return true;
  if (tree.type === 'string') return 'pattern' in tree || 'format' in tree || Number(tree['minLength'] ?? 0) > 1;
  return tree.type === 'number' || tree.type === 'integer' || tree.type === 'boolean';
}
