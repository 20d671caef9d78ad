import type { OutcomeDetail } from '../domain/delivery/outcome.ts';
import { fault } from '../domain/faults.ts';
import type { Probe, ScopeAnswer } from '../domain/ports/target.ts';
import { isLoopback } from '../lib/loopback.ts';
import { parseJson } from './answers/answer-text.ts';
import { answersList, type Classifier, meaningOf, NOTHING_EXPECTED } from './answers/classify.ts';
import { ENDPOINTS, type Endpoint, pathOf } from './endpoints.ts';
import { type ListPage, type ListShape, type PagingPlaces, pageIn } from './listing/list-page.ts';
import type { Exchange } from './transport.ts';

/**
 * Ids that no item has, in both forms that a route may require: a number, because databases begin at 1, and the nil UUID (RFC 9562,
 * section 5.9).
 */
const IMPOSSIBLE_IDS = ['0', '00000000-0000-0000-0000-000000000000'];

/** Sends one request. The path is below the base URL. */
type Ask = (method: Endpoint['method'], path: string, body: string | null) => Promise<Exchange>;

interface ProbeTools {
  /** Scheme, host and port of the API. */
  origin: string;
  classifier: Classifier;
  /** How the list of products is read. */
  shape: ListShape<unknown>;
  places: PagingPlaces;
  /** Sends a request with the key of data requests. */
  ask: Ask;
  /** Sends a request with the key for publishing. */
  askToPublish: Ask;
}

interface Answer {
  answer: ScopeAnswer;
  denied: Probe['denied'];
}

/**
 * Finds out the permissions of a key without writing anything. It reads one page, and then writes to items that cannot exist in any
 * organisation. A server that checks the scope before it looks for the item, as Django REST Framework does, answers 404 to a key
 * with the scope and 403 to a key without it. Any other answer leaves the permission unknown, and so does an answer that the server
 * also gives for a path that no API has.
 *
 * @throws Fault `api.unreachable` if the API does not answer at all
 */
export async function probeScopes(tools: ProbeTools): Promise<Probe> {
  const listing = await tools.ask('GET', ENDPOINTS['product.list'].path, null);
  if (listing.kind === 'silence' && listing.loss.by !== 'key') throw unreachable(tools, listing);
  const read = await readAnswer(tools, listing);
  const unknown: Probe['scopes'] = { read: 'unknown', write: 'unknown', publish: 'unknown' };
  if (read.denied !== null && read.denied.by !== 'scope') {
    return { denied: read.denied, plan: planOf([read]), scopes: unknown };
  }
  const isApi = read.answer !== 'unknown';
  const write = await impossible(tools, tools.ask, { endpoint: ENDPOINTS['material.update'], body: '{}', isApi });
  const publish = await impossible(tools, tools.askToPublish, {
    endpoint: ENDPOINTS['passport.publish'],
    body: null,
    isApi,
  });
  const scopes = { read: read.answer, write: write.answer, publish: publish.answer };
  const hard = [write.denied, publish.denied].find((denied) => denied !== null && denied.by !== 'scope');
  const none = Object.values(scopes).every((answer) => answer === 'no');
  return { denied: hard ?? (none ? read.denied : null), plan: planOf([read, write, publish]), scopes };
}

/** 402 means that the plan is not sufficient. Any answer about a scope means that the plan is sufficient. */
function planOf(answers: readonly Answer[]): ScopeAnswer {
  if (answers.some(({ denied }) => denied?.by === 'plan')) return 'no';
  return answers.some(({ answer }) => answer !== 'unknown') ? 'yes' : 'unknown';
}

/** Only a list shows that the key may read. An empty one may be the answer of a server that answers every path so. */
async function readAnswer(tools: ProbeTools, exchange: Exchange): Promise<Answer> {
  const denial = denialIn(tools.classifier, exchange);
  if (denial !== null) return denial;
  const page = listIn(tools, exchange);
  if (page === null) return { answer: 'unknown', denied: null };
  const isSure = page === 'long' || page.entries.length + page.nameless.length > 0;
  const { path } = ENDPOINTS['product.list'];
  if (isSure || !(await isUsual(tools.ask, { method: 'GET', path, body: null }, exchange))) {
    return { answer: 'yes', denied: null };
  }
  return { answer: 'unknown', denied: null };
}

/** The page of a list. `long` stands for a list of which only the beginning was read. */
function listIn(tools: ProbeTools, exchange: Exchange): ListPage<unknown> | 'long' | null {
  if (exchange.kind !== 'answer') return null;
  if (exchange.cut?.by === 'size') return answersList(exchange) ? 'long' : null;
  const read = pageIn(tools, exchange);
  return read.ok && read.value.kind === 'page' ? read.value.page : null;
}

/**
 * Tries every impossible id. One 403 is enough for a refusal, because routes may differ by the form of the id.
 *
 * @param request.isApi true if the API has answered before
 */
async function impossible(
  tools: ProbeTools,
  ask: Ask,
  { endpoint, body, isApi }: { endpoint: Endpoint; body: string | null; isApi: boolean },
): Promise<Answer> {
  let answer: ScopeAnswer = 'unknown';
  for (const id of IMPOSSIBLE_IDS) {
    const path = pathOf(endpoint, id);
    const exchange = await ask(endpoint.method, path, body);
    const denial = denialIn(tools.classifier, exchange);
    if (denial !== null) return denial;
    if (answer === 'yes' || !mayWrite(exchange)) continue;
    const isSure = isApi && exchange.status === 404;
    if (isSure || !(await isUsual(ask, { method: endpoint.method, path, body }, exchange))) answer = 'yes';
  }
  return { answer, denied: null };
}

type Answered = Extract<Exchange, { kind: 'answer' }>;

/**
 * The 404 of a view has JSON. The 404 of a router that does not know the path usually has none, and proves nothing. A
 * page of HTML comes from another server, whatever its status is.
 */
function mayWrite(exchange: Exchange): exchange is Answered {
  if (exchange.kind !== 'answer') return false;
  const isJson = parseJson(exchange.body) !== undefined;
  if (meaningOf(exchange.status) === 'done') return isJson || exchange.body.trim() === '';
  return exchange.status === 404 && isJson;
}

/** True if the server answers a path that no API has in the same way. The answer then shows nothing. */
async function isUsual(
  ask: Ask,
  { method, path, body }: { method: Endpoint['method']; path: string; body: string | null },
  answer: Exchange,
): Promise<boolean> {
  const other = await ask(method, path.replace('/api/', '/api/dpp-sync-check/'), body);
  return other.kind === 'answer' && answer.kind === 'answer' && formOf(other) === formOf(answer);
}

/** The status and the names of the members. Times, paths and ids in an answer differ each time. */
function formOf({ status, body }: Answered): string {
  const value = parseJson(body);
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [typeof value];
  return JSON.stringify([status, names]);
}

function denialIn(classifier: Classifier, exchange: Exchange): Answer | null {
  const outcome = classifier.outcomeOf(exchange, NOTHING_EXPECTED);
  if (outcome.kind !== 'denied') return null;
  return { answer: outcome.by === 'scope' ? 'no' : 'unknown', denied: { by: outcome.by, detail: outcome.detail } };
}

function unreachable({ classifier, origin }: ProbeTools, exchange: Exchange) {
  const outcome = classifier.outcomeOf(exchange, NOTHING_EXPECTED);
  const detail: OutcomeDetail | null = 'detail' in outcome ? outcome.detail : null;
  if (outcome.kind === 'unavailable' && outcome.local) {
    return fault('machine.limit', `The API cannot be asked: ${outcome.detail.message}`);
  }
  return fault('api.unreachable', `The API cannot be reached: ${detail?.message ?? 'there was no answer.'}`, {
    path: 'target.baseUrl',
    suggestion: isLoopback(new URL(origin).hostname)
      ? `${origin} is on this machine. If it is the sandbox, start it with \`dpp-sync sandbox\`; otherwise check target.baseUrl.`
      : 'Check target.baseUrl, the network and the certificate of the API.',
  });
}
