import type { OutcomeDetail } from '../domain/delivery/outcome.ts';
import { fault } from '../domain/faults.ts';
import type { Probe, ScopeAnswer } from '../domain/ports/target.ts';
import { answersList, type Classifier, meaningOf, NOTHING_EXPECTED } from './answers/classify.ts';
import { parseJson } from './answers/json-text.ts';
import { ENDPOINTS, type Endpoint, pathOf } from './endpoints.ts';
import type { Exchange } from './transport.ts';

/**
 * Ids that no item has, in both forms that a route may require: a number, because databases begin at 1, and the nil UUID (RFC 9562,
 * section 5.9).
 */
const IMPOSSIBLE_IDS = ['0', '00000000-0000-0000-0000-000000000000'];

/** Sends one request. The path is below the base URL. */
type Ask = (method: Endpoint['method'], path: string, body: string | null) => Promise<Exchange>;

export interface ProbeTools {
  /** The first characters of the keys, if the keys can be read. */
  prefixes: Pick<Probe, 'keyPrefix' | 'publishKeyPrefix'>;
  classifier: Classifier;
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
 * with the scope and 403 to a key without it. Any other answer leaves the permission unknown.
 *
 * @throws Fault `api.unreachable` if the API does not answer at all
 */
export async function probeScopes(tools: ProbeTools): Promise<Probe> {
  const listing = await tools.ask('GET', ENDPOINTS['product.list'].path, null);
  if (listing.kind === 'silence' && listing.loss.by !== 'key') throw unreachable(tools, listing);
  const read = readAnswer(tools, listing);
  const unknown: Probe['scopes'] = { read: 'unknown', write: 'unknown', publish: 'unknown' };
  const { prefixes } = tools;
  if (read.denied !== null && read.denied.by !== 'scope') {
    return { ...prefixes, denied: read.denied, plan: planOf([read]), scopes: unknown };
  }
  const write = await impossible(tools, tools.ask, { endpoint: ENDPOINTS['material.update'], body: '{}' });
  const publish = await impossible(tools, tools.askToPublish, { endpoint: ENDPOINTS['passport.publish'], body: null });
  const scopes = { read: read.answer, write: write.answer, publish: publish.answer };
  const hard = [write.denied, publish.denied].find((denied) => denied !== null && denied.by !== 'scope');
  const none = Object.values(scopes).every((answer) => answer === 'no');
  return { ...prefixes, denied: hard ?? (none ? read.denied : null), plan: planOf([read, write, publish]), scopes };
}

/** 402 means that the plan is not sufficient. Any answer about a scope means that the plan is sufficient. */
function planOf(answers: readonly Answer[]): ScopeAnswer {
  if (answers.some(({ denied }) => denied?.by === 'plan')) return 'no';
  return answers.some(({ answer }) => answer !== 'unknown') ? 'yes' : 'unknown';
}

function readAnswer({ classifier }: ProbeTools, exchange: Exchange): Answer {
  if (exchange.kind === 'answer' && answersList(exchange)) return { answer: 'yes', denied: null };
  return denialIn(classifier, exchange) ?? { answer: 'unknown', denied: null };
}

/** Tries every impossible id. One 403 is enough for a refusal, because routes may differ by the form of the id. */
async function impossible(
  tools: ProbeTools,
  ask: Ask,
  { endpoint, body }: { endpoint: Endpoint; body: string | null },
): Promise<Answer> {
  let answer: ScopeAnswer = 'unknown';
  for (const id of IMPOSSIBLE_IDS) {
    const exchange = await ask(endpoint.method, pathOf(endpoint, id), body);
    const denial = denialIn(tools.classifier, exchange);
    if (denial !== null) return denial;
    if (mayWrite(exchange)) answer = 'yes';
  }
  return { answer, denied: null };
}

/** The 404 of a view has JSON. The 404 of a router that does not know the path usually has none, and proves nothing. */
function mayWrite(exchange: Exchange): boolean {
  if (exchange.kind !== 'answer') return false;
  if (meaningOf(exchange.status) === 'done') return true;
  return exchange.status === 404 && exchange.body !== '' && parseJson(exchange.body) !== undefined;
}

function denialIn(classifier: Classifier, exchange: Exchange): Answer | null {
  const outcome = classifier.outcomeOf(exchange, NOTHING_EXPECTED);
  if (outcome.kind !== 'denied') return null;
  return { answer: outcome.by === 'scope' ? 'no' : 'unknown', denied: { by: outcome.by, detail: outcome.detail } };
}

function unreachable({ classifier }: ProbeTools, exchange: Exchange) {
  const outcome = classifier.outcomeOf(exchange, NOTHING_EXPECTED);
  const detail: OutcomeDetail | null = 'detail' in outcome ? outcome.detail : null;
  if (outcome.kind === 'unavailable' && outcome.local) {
    return fault('machine.limit', `The API cannot be asked: ${outcome.detail.message}`);
  }
  return fault('api.unreachable', `The API cannot be reached: ${detail?.message ?? 'there was no answer.'}`, {
    path: 'target.baseUrl',
    suggestion: 'Check target.baseUrl, the network and the certificate of the API.',
  });
}
