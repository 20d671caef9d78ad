import type { Profile } from '../../domain/profile.ts';
import { isJsonObject } from '../../lib/json.ts';
import { ENDPOINTS, type Endpoint, type EndpointName, scopeOf } from '../endpoints.ts';
import {
  type ApiDocument,
  type ApiOperation,
  answersLocation,
  isJsonType,
  requestBodyOf,
  successesOf,
} from './document.ts';
import { listed, type Matches, type Report, reportUnread } from './match.ts';

const KEY_HEADER = 'X-API-Key';
/** The headers that every request or every write has. */
const SENT_HEADERS = new Set(['x-api-key', 'accept', 'content-type', 'user-agent', 'idempotency-key', 'authorization']);
const IF_MATCH = 'if-match';
const IDEMPOTENCY_HEADER = 'idempotency-key';

/** Checks headers, parameters, bodies, statuses and scopes of every operation. */
export function checkRequests(document: ApiDocument, matches: Matches, profile: Profile, report: Report): void {
  checkSchemes(document, report);
  for (const [name, operation] of matches) {
    const endpoint: Endpoint = ENDPOINTS[name];
    const at: Report = (difference) => report({ ...difference, path: `${endpoint.method} ${endpoint.path}` });
    checkParameters(operation, { profile, isChange: name === 'material.update', report: at });
    checkBody(operation, { document, endpoint, mediaType: mediaTypeOf(endpoint, profile), report: at });
    checkStatuses(operation, { document, name, report: at });
    checkScope(operation, { name, profile, report: at });
  }
  checkIdempotency(matches, { document, profile, report });
}

function checkSchemes({ securitySchemes, hasSecuritySchemes }: ApiDocument, report: Report): void {
  if (!hasSecuritySchemes) return;
  const keys = [...securitySchemes.values()].filter((scheme) => scheme['type'] === 'apiKey');
  const headers = keys.flatMap(({ name, in: place }) => (place === 'header' && typeof name === 'string' ? name : []));
  if (headers.some((name) => name.toLowerCase() === KEY_HEADER.toLowerCase())) return;
  const others = keys.flatMap(({ name, in: place }) =>
    typeof place === 'string' && place !== 'header' && typeof name === 'string' ? `${name} in ${place}` : [],
  );
  const found = [...headers, ...others];
  report({
    path: 'components.securitySchemes',
    what: 'header of the API key',
    found: listed(found),
    expected: `"${KEY_HEADER}" in the header`,
    weight: 'breaks',
  });
}

function checkParameters(
  { parameters, unreadParameters }: ApiOperation,
  { profile, isChange, report }: { profile: Profile; isChange: boolean; report: Report },
): void {
  for (const why of unreadParameters) reportUnread(report, { what: 'parameter', why });
  for (const { name, in: place, required } of parameters) {
    const sent = place === 'path' || (place === 'header' && SENT_HEADERS.has(name.toLowerCase()));
    const isTag = isChange && place === 'header' && name.toLowerCase() === IF_MATCH;
    if (!required || sent || (isTag && profile.requests.ifMatch !== 'none')) continue;
    report({
      path: '',
      what: `required ${place} parameter`,
      found: `"${name}"`,
      expected: 'only required parameters of the API document',
      weight: 'breaks',
      ...(isTag && { setting: 'requests.ifMatch', value: 'etag' }),
    });
  }
}

interface BodyCheck {
  document: ApiDocument;
  endpoint: Endpoint;
  mediaType: MediaType;
  report: Report;
}

/** The media type of a body, and its setting. */
interface MediaType {
  type: string;
  setting: 'requests.contentType' | 'requests.updateContentType';
}

function mediaTypeOf({ method }: Endpoint, { requests }: Profile): MediaType {
  const { contentType, updateContentType } = requests;
  if (method !== 'PATCH') return { type: contentType, setting: 'requests.contentType' };
  return { type: updateContentType ?? contentType, setting: 'requests.updateContentType' };
}

function checkBody(operation: ApiOperation, { document, endpoint, mediaType, report }: BodyCheck): void {
  const { types, required, unread } = requestBodyOf(operation, document);
  if (unread !== null) reportUnread(report, { what: 'request body', why: unread });
  if (endpoint.body === 'none') {
    if (required) {
      report({ path: '', what: 'request body', found: 'a required one', expected: 'none', weight: 'breaks' });
    }
  } else if (types.length > 0 && !types.some(isJsonType)) {
    report({
      path: '',
      what: 'type of the request body',
      found: listed(types),
      expected: `"${mediaType.type}"`,
      weight: 'breaks',
      ...(endpoint === ENDPOINTS['product.import'] && { setting: 'productUpdate', value: 'none' }),
    });
  } else if (types.length > 0 && !types.some((type) => isSameType(type, mediaType.type))) {
    const value = types.find(isJsonType) ?? '';
    report({
      path: '',
      what: 'type of the request body',
      found: listed(types),
      expected: `"${mediaType.type}"`,
      weight: 'breaks',
      setting: mediaType.setting,
      value,
    });
  }
}

/** Whether a media type of the document, which may be a range, allows the type that is sent. */
function isSameType(allowed: string, sent: string): boolean {
  const [range, type] = [allowed, sent].map((one) => (one.split(';')[0] ?? '').trim().toLowerCase());
  return range === '*/*' || range === 'application/*' || range === type;
}

function checkStatuses(
  operation: ApiOperation,
  { document, name, report }: { document: ApiDocument; name: EndpointName; report: Report },
): void {
  const successes = successesOf(operation, document);
  if (successes.size === 0) {
    const found = 'none among the answers';
    report({ path: '', what: 'success', found, expected: 'an answer with a 2xx status', weight: 'note' });
  }
  const needsId = name === 'product.create' || name === 'material.create';
  for (const [status, { types, unread }] of successes) {
    if (unread !== null) {
      reportUnread(report, { what: `answer ${status}`, why: unread });
      continue;
    }
    if (status === '202' && name !== 'report.create') {
      const expected = 'an answer once the work is done';
      report({
        path: '',
        what: 'success',
        found: '202, which does not mean that the work is done',
        expected,
        weight: 'note',
      });
    }
    if (needsId && types.length === 0 && successes.size === 1 && !answersLocation(operation, document)) {
      const expected =
        'a body with the new id, or the header Location; without them every write has to be read back from the list';
      report({ path: '', what: 'success', found: `${status} without a body`, expected, weight: 'breaks' });
    }
    if (name === 'passport.pdf' && types.length > 0 && !types.some((type) => /pdf|octet-stream|\*\/\*/i.test(type))) {
      report({
        path: '',
        what: 'type of the answer',
        found: listed(types),
        expected: '"application/pdf"',
        weight: 'breaks',
      });
    }
  }
}

/** The scopes of an operation: those of its security requirements, or those of an extension with that name. */
function checkScope(
  operation: ApiOperation,
  { name, profile, report }: { name: EndpointName; profile: Profile; report: Report },
): void {
  const said = scopesOf(operation);
  const scope = scopeOf(name, profile);
  if (said.length === 0 || scope === null || said.includes(scope)) return;
  const [only] = said;
  const settable = name === 'report.create' && (only === 'read' || only === 'write');
  report({
    path: '',
    what: 'scope',
    found: listed(said),
    expected: `"${scope}"`,
    weight: 'note',
    ...(settable && { setting: 'scopes.reportCreate', value: only }),
  });
}

const KNOWN_SCOPES = /^(?:.*[:./])?(read|write|publish)$/i;

function scopesOf({ raw }: ApiOperation): string[] {
  const security = Array.isArray(raw['security']) ? raw['security'] : [];
  const required = security.flatMap((one) => (isJsonObject(one) ? Object.values(one).flat() : []));
  const extensions = ['x-required-scope', 'x-required-scopes', 'x-scope', 'x-scopes'].flatMap((key) => raw[key] ?? []);
  const words = [...required, ...extensions].flatMap((word) => (typeof word === 'string' ? word : []));
  return [...new Set(words.flatMap((word) => KNOWN_SCOPES.exec(word)?.[1]?.toLowerCase() ?? []))];
}

interface IdempotencyCheck {
  document: ApiDocument;
  profile: Profile;
  report: Report;
}

/** Checks which writes list the idempotency header, and which of them describe a repeated key. */
function checkIdempotency(matches: Matches, { document, profile, report }: IdempotencyCheck): void {
  const writes = [...matches].filter(([name]) => ENDPOINTS[name].method !== 'GET' && name !== 'api_key.revoke');
  const listing = writes.filter(([, { parameters }]) =>
    parameters.some(({ name, in: place }) => place === 'header' && name.toLowerCase() === IDEMPOTENCY_HEADER),
  );
  if (writes.length === 0) return;
  const names = listing.map(([name]) => name);
  const isEverywhere = listing.length === writes.length;
  const suggested = isEverywhere ? 'honoured' : names.includes('passport.publish') ? 'publish' : 'none';
  if (suggested === profile.idempotency) return;
  const isObeyed = isEverywhere && writes.every(([, operation]) => tellsOfReuse(operation, document));
  const evidence = isObeyed
    ? ', with answers for a key that is used again'
    : ', and the document does not show whether the API obeys the header';
  const found = isEverywhere ? `on every write${evidence}` : listing.length === 0 ? 'on no write' : listed(names);
  report({
    path: 'parameters',
    what: 'Idempotency-Key',
    found,
    expected: { honoured: 'on every write', publish: 'on publishing', none: 'on no write' }[profile.idempotency],
    weight: 'note',
    // I6: a listed header may still be ignored, and trust in an ignored header would double writes. So a setting is
    // proposed only with evidence, and even then the operator has to decide.
    ...((!isEverywhere || isObeyed) && { setting: 'idempotency' }),
    ...(!isEverywhere && { value: suggested }),
  });
}

/** Whether a refusal that the IETF draft defines for a key (409, 422) is described as such in the document. */
function tellsOfReuse({ raw }: ApiOperation, { resolve }: Pick<ApiDocument, 'resolve'>): boolean {
  const responses = resolve(raw['responses']) ?? {};
  return ['409', '422'].some((status) => {
    const description = resolve(responses[status])?.['description'];
    return typeof description === 'string' && /idempoten/i.test(description);
  });
}
