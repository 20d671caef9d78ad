import { meaningOf } from '../../src/api/answers/classify.ts';
import { ENDPOINT_NAMES, ENDPOINTS, type Endpoint, type EndpointName } from '../../src/api/endpoints.ts';
import { type SchemaTree, schemaTreeOf } from '../../src/config/schema/schema-walk.ts';
import { Profile } from '../../src/domain/profile.ts';

/** A test: its file, and its name or a part of its name as the file has it. */
export interface NamedTest {
  file: string;
  name: string;
}

const sandboxWalk: NamedTest = {
  file: 'test/integration/api/api-sandbox.test.ts',
  name: 'the client does everything that the document describes, with each style of server',
};
const client = (name: string): NamedTest => ({ file: 'test/integration/api/api-client.test.ts', name });
const reader = (name: string): NamedTest => ({ file: 'test/integration/api/api-reader.test.ts', name });
const passports = (name: string): NamedTest => ({ file: 'test/integration/api/api-passports.test.ts', name });
const classify = (name: string): NamedTest => ({ file: 'test/unit/api/api-classify.test.ts', name });
const imports = (name: string): NamedTest => ({ file: 'test/unit/api/api-import-answer.test.ts', name });

/** The code and the tests of each operation. The endpoint table has its other properties. */
const OPERATIONS: Record<EndpointName, { code: string[]; tests: NamedTest[] }> = {
  'product.list': {
    code: ['src/api/listing/listing.ts', 'src/api/listing/list-page.ts', 'src/api/target.ts'],
    tests: [client('a listing stays on its origin even when its next page is elsewhere'), sandboxWalk],
  },
  'product.create': {
    code: ['src/api/encode.ts', 'src/api/target.ts'],
    tests: [client('the client sends the committed bytes with the headers of the document'), sandboxWalk],
  },
  'bom_item.create': { code: ['src/api/encode.ts', 'src/api/target.ts'], tests: [sandboxWalk] },
  'material.list': {
    code: ['src/api/listing/listing.ts', 'src/api/listing/list-page.ts', 'src/api/target.ts'],
    tests: [client('the client asks for the page size of the profile and finds renamed fields')],
  },
  'material.create': { code: ['src/api/encode.ts', 'src/api/target.ts'], tests: [sandboxWalk] },
  'material.update': {
    code: ['src/api/encode.ts', 'src/api/target.ts'],
    tests: [
      {
        file: 'test/unit/api/api-encode.test.ts',
        name: 'encodeWrite writes an update with null for each field to clear',
      },
      sandboxWalk,
    ],
  },
  'passport.init': {
    code: ['src/api/encode.ts', 'src/api/target.ts'],
    tests: [passports('the writes of a passport are sent without a body or Content-Type'), sandboxWalk],
  },
  'passport.publish': {
    code: ['src/api/encode.ts', 'src/api/target.ts'],
    tests: [passports('publishing and unpublishing use the key for publishing'), sandboxWalk],
  },
  'passport.unpublish': {
    code: ['src/api/encode.ts', 'src/api/target.ts'],
    tests: [passports('publishing and unpublishing use the key for publishing'), sandboxWalk],
  },
  'publication.list': {
    code: ['src/api/reader.ts'],
    tests: [reader('publications are listed over all their pages, wherever an entry has its values'), sandboxWalk],
  },
  'passport.pdf': {
    code: ['src/api/reader.ts', 'src/api/reader.ts'],
    tests: [reader('a passport comes as PDF, byte for byte'), sandboxWalk],
  },
  'product.import': {
    code: [
      'src/api/encode.ts',
      'src/api/answers/import-answer.ts',
      'src/api/answers/import-words.ts',
      'src/ledger/deliveries/imports.ts',
      'src/delivery/outcome/decide-import.ts',
    ],
    tests: [
      imports('the answer to an import says what happened to each member'),
      {
        file: 'test/integration/delivery/product-import.test.ts',
        name: 'changed products are sent as one import, and each has its own history',
      },
      sandboxWalk,
    ],
  },
  'report.list': {
    code: ['src/api/reader.ts'],
    tests: [reader('reports are listed and created'), sandboxWalk],
  },
  'report.create': { code: ['src/api/reader.ts'], tests: [reader('reports are listed and created'), sandboxWalk] },
  'api_key.revoke': {
    code: ['src/api/api-client.ts'],
    tests: [reader('a key is revoked with only the token, and the token is in no output'), sandboxWalk],
  },
};

interface Statement {
  section: string;
  says: string;
  code: string[];
  tests: NamedTest[];
}

/** The statements of the document besides its table of endpoints, in the order of the document. */
const STATEMENTS: Statement[] = [
  {
    section: 'What the service does',
    says: 'Production use must be over HTTPS.',
    code: ['src/api/transport.ts'],
    tests: [{ file: 'test/unit/api/api-base-url.test.ts', name: 'parseBaseUrl' }],
  },
  {
    section: 'Endpoints',
    says: 'Bodies are JSON; requests send Accept: application/json.',
    code: ['src/api/credentials.ts'],
    tests: [client('the client sends the committed bytes with the headers of the document')],
  },
  {
    section: 'Payload shapes',
    says: 'Publish, unpublish and revoke have no body.',
    code: ['src/api/endpoints.ts', 'src/api/encode.ts'],
    tests: [passports('the writes of a passport are sent without a body or Content-Type')],
  },
  {
    section: 'Payload shapes',
    says: 'The export of a passport is a PDF document.',
    code: ['src/api/reader.ts'],
    tests: [reader('a passport comes as PDF, byte for byte'), reader('%s is no PDF')],
  },
  {
    section: 'Idempotency',
    says: 'Idempotency-Key is recommended on publishing, and in general.',
    code: ['src/api/credentials.ts', 'src/domain/delivery/delivery.ts'],
    tests: [passports('the writes of a passport are sent without a body or Content-Type')],
  },
  {
    section: 'Authentication: API key',
    says: 'Every data request has X-API-Key, and keys are sent only in the header.',
    code: ['src/api/credentials.ts'],
    tests: [client('the client follows no redirect, so that the key reaches no other host')],
  },
  {
    section: 'Authentication: Scopes',
    says: 'Scopes are checked for each endpoint; a key without the scope gets 403.',
    code: ['src/api/probe.ts', 'src/api/endpoints.ts'],
    tests: [
      client('a probe finds out that a key has %j'),
      {
        file: 'test/integration/api/api-sandbox.test.ts',
        name: 'a probe of a key with the scope %s finds exactly this scope and writes nothing',
      },
    ],
  },
  {
    section: 'Authentication: Key revocation',
    says: "Revocation takes an administrator's token, not an API key.",
    code: ['src/api/api-client.ts'],
    tests: [reader('a key is revoked with only the token, and the token is in no output')],
  },
  {
    section: 'Security rules for integrators',
    says: 'Raw keys are masked; at most the first 8 characters are kept.',
    code: ['src/api/answers/answer-text.ts', 'src/lib/logging/secrets.ts'],
    tests: [client('the key gets into no outcome, listing, probe or log, whatever an echoing server does with it')],
  },
  {
    section: 'Errors',
    says: '409 when a business rule blocks the operation, such as a publication or review gate.',
    code: ['src/api/answers/classify.ts', 'src/api/answers/decode.ts'],
    tests: [
      passports('a business rule is reported with its words and what is missing'),
      classify('a 409 is a business rule unless it says that the idempotency key is still at work'),
    ],
  },
  {
    section: 'Errors',
    says: '429 when the rate limit is reached; the client applies backoff and retries.',
    code: ['src/api/answers/classify.ts', 'src/api/answers/retries.ts', 'src/delivery/rate/rate-controller.ts'],
    tests: [classify('Retry-After with a date counts from the date of the answer')],
  },
  {
    section: 'Versioning',
    says: 'A complete machine-readable schema exists and is shared under control.',
    code: ['src/api/openapi/compare.ts'],
    tests: [
      {
        file: 'test/unit/api/api-openapi.test.ts',
        name: 'a difference of an OpenAPI document is gone once everything is set that it names',
      },
    ],
  },
];

/** The details that the document leaves open, each with the settings of the profile that decide it. */
const OPEN: { open: string; settings: string[]; also?: string }[] = [
  {
    open: 'Fields of products beyond the four, of materials and BOM items, and their names',
    settings: ['wireNames', 'refNames', 'extraFields'],
  },
  { open: 'How the API identifies items of a kind', settings: ['naturalKeys'] },
  { open: 'Whether a second item with the same natural key is refused', settings: ['duplicateKeys'] },
  { open: 'How decimals are written', settings: ['decimals'] },
  {
    open: 'Response bodies: where the id is',
    settings: ['idPaths', 'idUrlPaths'],
    also: 'Every 2xx status is a success. The header `Location` of a 201 has the id if the body has none.',
  },
  { open: 'The form of request bodies, and the media types', settings: ['requests'] },
  {
    open: 'Query parameters, filtering, sorting and pagination of lists',
    settings: ['list'],
    also: 'dpp-sync follows the links, cursors and page numbers of the answers, and relies on no filter.',
  },
  { open: 'Which operations obey Idempotency-Key', settings: ['idempotency'] },
  { open: 'How a changed product is sent, since the API has no update of a product', settings: ['productUpdate'] },
  {
    open: 'The body and the answer of the bulk import',
    settings: ['imports'],
    also: 'dpp-sync understands every usual form of answer. What an answer does not say, it reads from the list.',
  },
  { open: 'Fields of publications, and the names of the states of a passport', settings: ['publications'] },
  { open: 'Fields of reports', settings: ['reports'], also: 'A person gives the body of a new report.' },
  { open: 'The scope of creating a report', settings: ['scopes'] },
  { open: 'Sizes: answers and PDFs', settings: ['answerBytesMax', 'pdfBytesMax'] },
  {
    open: 'What a 503 means for its request',
    settings: ['answers'],
    also: 'If no words in the body prove that the request was not processed, the write is unconfirmed, as after a 504.',
  },
  { open: 'How long a request may take, and when its effect can be seen', settings: ['timeouts', 'settlingDelayMs'] },
  {
    open: 'The rate limit',
    settings: ['retry'],
    also: 'dpp-sync learns the rate from the answers; `target.maxRate` is its upper limit.',
  },
  {
    open: 'Whether a business rule later accepts a write that it has refused',
    settings: ['recheckBlockedMs'],
  },
];

/** Things that the document names and that have no endpoint or no meaning for a client. */
const ABSENT: [string, string][] = [
  ['Suppliers', 'Named under the scope `read`; there is no endpoint.'],
  ['Documents', 'Named among the covered areas; there is no endpoint.'],
  ['Reading, updating or deleting BOM items', 'There is no endpoint: a changed BOM item is `blocked: unsupported`.'],
  ['Updating a single product', 'There is no endpoint: a change goes through the bulk import.'],
  [
    'Review workflows',
    'Named under the scope `publish`; there is no endpoint. If a review is missing, the API answers 409.',
  ],
  ['Events', 'The document does not describe them. dpp-sync reads the publications and the lists.'],
  ["How an administrator's token is obtained", 'The document does not say it. A person gives the token to dpp-sync.'],
  ['Creating API keys', "Done in the platform's administrator panel."],
];

/** Forms of platforms that no setting of the profile can express. */
const INEXPRESSIBLE: [string, string][] = [
  [
    'Other paths or methods, such as PUT in place of PATCH',
    'The endpoint table is fixed. A prefix of all paths belongs to `target.baseUrl`.',
  ],
  ['A key in another header than `X-API-Key`, OAuth, signed requests', 'The document knows only the header.'],
  [
    'Bodies that are no JSON, such as XML, CSV or multipart',
    'All bodies are JSON. `requests.contentType` only names the type.',
  ],
  [
    'A field whose name has a dot, and single fields at different depths of a body or an entry',
    'All fields of an item are in one object: `requests` and `list.entry` say where. A template of `requests` can have constants beside it.',
  ],
  [
    'Different places of the fields in lists and in answers to writes',
    '`list.entry` applies to both, and where it is absent, the item itself counts.',
  ],
  ['A prefix of `$` in a constant of a template', 'A text that begins with `$` is a placeholder.'],
  ['Ids of several parts, or an id that is not the last part of the address', 'An id is one text or one number.'],
  [
    'Whether ids from addresses are texts or numbers in bodies',
    'Digits are sent as a number, all other ids as a text.',
  ],
  [
    'Preconditions other than `If-Match`',
    'They are not sent. `If-Match` is sent only with the change of a material (`requests.ifMatch`).',
  ],
  ['Several entries in one answer to a single write', 'The answer is one item.'],
  ['Lists that need a filter, a body or a POST', 'Lists are read with GET, a page size and a place.'],
  ['References by natural key in place of ids', 'The refs of a BOM item are ids.'],
];

const STATUSES = [401, 402, 403, 409, 429, 400, 404, 408, 500, 503, 504, 200, 302];
const MEANINGS: Record<string, string> = {
  done: 'Accepted, if the answer is complete and has the values that are needed. If not, unconfirmed.',
  redirect: 'Refused: dpp-sync follows no redirect.',
  key: 'The API refuses the key: nothing more is sent until it accepts the key, or gets another one.',
  plan: 'The API refuses the plan: nothing more is sent until the plan is active.',
  scope:
    'The API refuses a scope: requests that need this scope are not sent until the key has it. All other requests are sent.',
  gate: 'A business rule refuses: the delivery is blocked with the words of the API. A create is looked up first. If the answer is about the idempotency key, the reason is `in_flight`.',
  throttle: 'Throttled: the request is sent again after `Retry-After`, and uses no attempt.',
  away: 'If the body says that the request was not processed, the API is unavailable: the request is sent again after `Retry-After`. If not, the write is unconfirmed, as after a 504.',
  refusal: 'Refused: the data is wrong. A create is looked up at the platform first.',
  timeout: 'Unconfirmed: it is unknown whether the request took effect.',
  server_error: 'Unconfirmed: it is unknown whether the request took effect.',
};

/** Every test that the page names. */
export function namedTests(): NamedTest[] {
  return [...Object.values(OPERATIONS), ...STATEMENTS].flatMap(({ tests }) => tests);
}

/** Every file of code that the page names. */
export function namedCode(): string[] {
  return [...Object.values(OPERATIONS), ...STATEMENTS].flatMap(({ code }) => code);
}

/** The settings of the profile that the page explains. */
export function explainedSettings(): string[] {
  return OPEN.flatMap(({ settings }) => settings);
}

/** The page that leads from the API document to code, tests and settings, in Markdown. */
export function apiCoverage(): string {
  const operations = ENDPOINT_NAMES.map((name) => {
    const { title, method, path, scope, sentBy, sections }: Endpoint = ENDPOINTS[name];
    const open = name === 'report.create' ? '`scopes.reportCreate`' : (scope ?? "an administrator's token");
    const { code, tests } = OPERATIONS[name];
    return `| ${title} | ${method} \`${path}\` | ${open} | ${sections.join('; ')} | \`${sentBy}\`, ${links(code)} | ${testLinks(tests)} |`;
  });
  const statements = STATEMENTS.map(
    ({ section, says, code, tests }) => `| ${section} | ${says} | ${links(code)} | ${testLinks(tests)} |`,
  );
  const statuses = STATUSES.map((status) => `| ${status} | ${meaningIn(status)} |`);
  const profile = schemaTreeOf(Profile);
  const open = OPEN.map(({ open: what, settings, also }) => {
    const about = settings.map((name) => describe(profile, name)).join('<br>');
    return `| ${what} | ${about}${also === undefined ? '' : `<br>${also}`} |`;
  });
  const absent = ABSENT.map(([what, why]) => `| ${what} | ${why} |`);
  const inexpressible = INEXPRESSIBLE.map(([what, why]) => `| ${what} | ${why} |`);
  return `${[
    '# The API document in the client',
    '',
    "This page is generated from the client's endpoint table, the profile and the names of the tests (`npm run generate`).",
    '[`api-coverage-sandbox.md`](api-coverage-sandbox.md) is the same page for the sandbox.',
    '',
    '## The endpoint table',
    '',
    '| operation | request | scope | sections | code | tests |',
    '|---|---|---|---|---|---|',
    ...operations,
    '',
    '## What else the document says',
    '',
    '| section | says | code | tests |',
    '|---|---|---|---|',
    ...statements,
    '',
    '## What a status means',
    '',
    '`src/api/answers/classify.ts` gives each status its meaning. The API document names the first five statuses, and RFC 9110 defines the others.',
    '',
    '| status | means |',
    '|---|---|',
    ...statuses,
    '',
    '## What the document leaves open',
    '',
    'The profile says what dpp-sync assumes ([`configuration.md`](configuration.md#profiles)). If the operator of the platform gives',
    'you the OpenAPI document, `dpp-sync check --openapi FILE` compares it with the profile and says what to set.',
    '',
    '| left open | where it is set |',
    '|---|---|',
    ...open,
    '',
    '## What a profile cannot say',
    '',
    '| form of a platform | here |',
    '|---|---|',
    ...inexpressible,
    '',
    '## What has no endpoint',
    '',
    '| named | here |',
    '|---|---|',
    ...absent,
  ].join('\n')}\n`;
}

function meaningIn(status: number): string {
  const meaning = MEANINGS[meaningOf(status)];
  if (meaning === undefined) throw new Error(`The page has no words for ${status}.`);
  return meaning;
}

function links(files: readonly string[]): string {
  return files.map((file) => `[${file.replace('src/', '')}](../${file})`).join(', ');
}

function testLinks(tests: readonly NamedTest[]): string {
  return tests.map(({ file, name }) => `[${file.replace(/^test\/\w+\//, '')}](../${file}): ${name}`).join('<br>');
}

function describe(profile: SchemaTree, name: string): string {
  const tree = profile.properties?.[name];
  if (tree === undefined) throw new Error(`The profile has no setting ${name}.`);
  const inner = Object.keys(tree.properties ?? {});
  const names = inner.length === 0 ? '' : ` (${inner.map((one) => `\`${one}\``).join(', ')})`;
  return `\`${name}\`${names}: ${(tree.description ?? '').replaceAll('|', '\\|')}`;
}
