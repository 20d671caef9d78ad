import { z } from 'zod';
import { ENDPOINTS, OPERATION_NAMES, type OperationName } from '../../src/sandbox/api/endpoints.ts';
import { LIE_NAMES, LIES } from '../../src/sandbox/lies/lies.ts';
import { refusalsOf } from '../../src/sandbox/schema/answers.ts';
import { SandboxSettings } from '../../src/sandbox/settings/settings.ts';
import { CASES } from '../support/sandbox/sandbox-cases.ts';

/**
 * The statuses with which an operation refuses requests if every write obeys Idempotency-Key, and the statuses of its path.
 * The conformance test causes each of them.
 */
export function allRefusalsOf(operation: OperationName): number[] {
  const settings = SandboxSettings.parse({ idempotency: 'honoured' });
  return [...refusalsOf(operation, settings).keys(), 405].sort((a, b) => a - b);
}

const STATUS_MEANINGS = [
  [400, 'The body is not JSON, or some of its fields are wrong: messages by field.'],
  [
    401,
    'There is no key, or the key is invalid, expired or revoked. For the revocation of keys: there is no session token, or it is not valid.',
  ],
  [402, 'The organisation is not on the Enterprise plan.'],
  [403, 'The key does not have the scope, or the user does not have the role. An API key cannot manage API keys.'],
  [
    404,
    'The organisation has no such product, material, passport or key, or the list has no such page. The things of other organisations count as absent.',
  ],
  [405, 'The path does not have this method. `Allow` names the methods that it has.'],
  [
    409,
    'A gate refuses, and the answer names what is `missing`. Or the passport cannot change its state in this way. Or a request with the same Idempotency-Key is still in progress (if the operation obeys the key).',
  ],
  [413, 'The body is larger than `bodyBytesMax`.'],
  [415, 'The body is not of the type `application/json`, or it is compressed.'],
  [422, 'The Idempotency-Key was used for another request (if the operation obeys the key).'],
  [429, 'The rate limit is reached.'],
] as const;

/** The page about the parts of the API document that the sandbox covers, in Markdown. */
export function sandboxCoverage(): string {
  const rows = OPERATION_NAMES.map((operation) => {
    const { title, method, path, scope } = ENDPOINTS[operation];
    const { status } = CASES[operation].succeeds;
    const needs = scope === 'administrator' ? 'session of an owner or administrator' : scope;
    return `| ${title} | \`${operation}\` | ${method} | \`${path}\` | ${needs} | ${status} | ${allRefusalsOf(operation).join(', ')} |`;
  });
  const schema = z.toJSONSchema(SandboxSettings, { io: 'input', unrepresentable: 'any' });
  const settings = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { description = '', default: assumed } = property as { description?: string; default?: unknown };
    return `| \`${name}\` | ${assumed === undefined ? '' : `\`${JSON.stringify(assumed)}\``} | ${description} |`;
  });
  return [
    '# The API document in the sandbox',
    '',
    'This page is generated from the endpoint table and the settings of the sandbox, and from the cases of the conformance test',
    '(`test/conformance/sandbox.test.ts`). That test causes every status below.',
    '',
    '## Operations',
    '',
    '| Operation | Name | Method | Path | Scope | Success | Refusals |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    'The API document names suppliers and documents, but it gives no endpoint for them.',
    '',
    '## What the refusals mean',
    '',
    '| Status | Meaning |',
    '|---|---|',
    ...STATUS_MEANINGS.map(([status, meaning]) => `| ${status} | ${meaning} |`),
    '',
    '## The passport as PDF',
    '',
    'The PDF is one page with the facts of the passport and its product, the materials and the BOM. If the page has no room for',
    'some entries, it shows their number. A text that is wider than the page ends with an ellipsis. The QR code has the address',
    'of the publication, or the address that a publication would get. If the product has a GTIN, this address is a GS1 Digital',
    'Link below `publicBaseUrl`. The sandbox does not serve this address.',
    '',
    'The fonts have the Latin, Greek, Cyrillic, Armenian and Georgian letters. Any other character is shown as an empty box.',
    '',
    '## What the document leaves open',
    '',
    'Each of these is a setting of the sandbox.',
    '',
    '| Setting | Default | What it decides |',
    '|---|---|---|',
    ...settings,
    '',
    '## Lies',
    '',
    'The setting `lies` has some of these names. [The sandbox](sandbox.md#lies) says how to use them.',
    '',
    '| Lie | What happens |',
    '|---|---|',
    ...LIE_NAMES.map((name) => `| \`${name}\` | ${LIES[name].describe} |`),
    '',
  ].join('\n');
}
