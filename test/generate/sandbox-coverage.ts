import { z } from 'zod';
import { ENDPOINTS, OPERATION_NAMES, type OperationName } from '../../src/sandbox/api/endpoints.ts';
import { refusalsOf } from '../../src/sandbox/schema/refusals.ts';
import { SandboxSettings } from '../../src/sandbox/settings/settings.ts';
import { CASES } from '../support/sandbox/sandbox-cases.ts';

/**
 * Statuses that an operation refuses with where every write obeys Idempotency-Key, and those of its path. The conformance
 * test provokes each of them.
 */
export function allRefusalsOf(operation: OperationName): number[] {
  const settings = SandboxSettings.parse({ idempotency: 'honoured' });
  return [...refusalsOf(operation, settings).keys(), 405].sort((a, b) => a - b);
}

const STATUS_MEANINGS = [
  [400, 'The body is no JSON, or fields of it are wrong: messages by field.'],
  [
    401,
    'No key, or one that is invalid, expired or revoked. For the revocation of keys: no session token, or a bad one.',
  ],
  [402, 'The organisation is not on the Enterprise plan.'],
  [403, 'The key lacks the scope, or the user the role. An API key never manages API keys.'],
  [404, 'There is no such thing in the organisation, or no such page of a list. What others have does not exist.'],
  [405, 'The path has no such method; `Allow` names those that it has.'],
  [
    409,
    'A gate with what is `missing`, a transition that makes no sense, or the same Idempotency-Key still in progress (where the operation obeys it).',
  ],
  [413, 'The body is larger than `bodyBytesMax`.'],
  [415, 'The body is of another type than `application/json`, or compressed.'],
  [422, 'The Idempotency-Key was used for another request (where the operation obeys it).'],
  [429, 'The rate limit is reached.'],
] as const;

/** The page that tells what the sandbox covers, in Markdown. */
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
    'This page is generated from the sandbox’s endpoint table, from the cases that the conformance test walks',
    '(`test/conformance/sandbox.test.ts`) and from the sandbox’s settings. Every status below is provoked by that test.',
    '',
    '## Operations',
    '',
    '| Operation | Name | Method | Path | Scope | Success | Refusals |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    'Suppliers and documents are named in the document, but no endpoint is given for them.',
    '',
    '## What the refusals mean',
    '',
    '| Status | Meaning |',
    '|---|---|',
    ...STATUS_MEANINGS.map(([status, meaning]) => `| ${status} | ${meaning} |`),
    '',
    '## The passport as PDF',
    '',
    'The PDF is one page with the facts of the passport and its product, the materials and the BOM. Entries that it has no room',
    'for are counted, and a text that is wider than the page ends in an ellipsis. Its QR code holds the address of the',
    'publication, or the one that a publication would get: a GS1 Digital Link below `publicBaseUrl` where the product has a',
    'GTIN. The sandbox does not serve that address.',
    '',
    'The fonts have the Latin, Greek, Cyrillic, Armenian and Georgian letters. Any other character shows as an empty box.',
    '',
    '## What the document leaves open',
    '',
    'Each of these is a setting of the sandbox.',
    '',
    '| Setting | Default | What it decides |',
    '|---|---|---|',
    ...settings,
    '',
  ].join('\n');
}
