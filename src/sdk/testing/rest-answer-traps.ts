import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { EACH, parseDocumentPath, valueAt } from '../document-path.ts';
import type { RestApi } from './rest-api.ts';
import { type ApiReply, type Behaviour, EXACT_MARK } from './rest-behaviour.ts';
import { always, type Trap, type TrapSetup } from './rest-trap.ts';

/** The request at which a trap is set: the second one, where there is a second one. */
const middleOf = (api: RestApi): number => (api.page.by === 'none' ? 1 : 2);

/** The answer to the request in the middle, for the first attempt or for each. */
function replies(reply: ApiReply | ((answer: ApiReply) => ApiReply), which: 'once' | 'always') {
  return ({ api }: TrapSetup): Behaviour => ({
    reply: (page, attempt, { answer }) => {
      if (page !== middleOf(api) || (which === 'once' && attempt > 1)) return null;
      return typeof reply === 'function' ? reply(answer) : reply;
    },
  });
}

const HTML: ApiReply = { text: '<html><body>Maintenance</body></html>', headers: { 'content-type': 'text/html' } };
const AGAIN = 'Send the request again after an answer that says nothing about it, and fail if that does not help.';
/** Traps in answers: refusals, failures, cut connections, logins that end, and values. */
export const ANSWER_TRAPS: readonly Trap[] = [
  {
    title: 'a request is refused with 429 and Retry-After',
    verdict: 'whole',
    without: always,
    behaviour: replies({ status: 429, headers: { 'retry-after': '1' } }, 'once'),
    cure: 'Send the request again after the time of Retry-After.',
    inChanges: true,
  },
  {
    title: 'a request is refused with 429 and without Retry-After',
    verdict: 'whole',
    without: always,
    behaviour: replies({ status: 429 }, 'once'),
    cure: 'Send the request again a moment later.',
  },
  {
    title: 'a request is answered once with 500',
    verdict: 'whole or fault',
    without: always,
    behaviour: replies({ status: 500, text: 'broken' }, 'once'),
    cure: AGAIN,
  },
  {
    title: 'a request is answered with 503 each time',
    verdict: 'fault',
    without: always,
    behaviour: replies({ status: 503, text: 'broken' }, 'always'),
    cure: AGAIN,
    inChanges: true,
  },
  {
    title: 'a request that has failed cannot be sent again',
    verdict: 'whole or fault',
    without: ({ restarts, page }) =>
      restarts !== true ? 'the API does not restart' : page.by === 'bulkJob' ? 'one file has all rows' : null,
    behaviour: restarting,
    cure: 'Begin again with the first page, or fail (`onError: restart` or `incomplete`).',
  },
  {
    title: 'the connection is cut once in the middle of an answer',
    verdict: 'whole or fault',
    without: always,
    behaviour: replies((answer) => ({ ...answer, isCut: true }), 'once'),
    cure: AGAIN,
  },
  {
    title: 'the connection is cut in the middle of each answer',
    verdict: 'fault',
    without: always,
    behaviour: ({ api }) => ({
      reply: (page, _, { answer }) => (page >= middleOf(api) ? { ...answer, isCut: true } : null),
    }),
    cure: AGAIN,
    inChanges: true,
  },
  {
    title: 'a token of the login ends',
    verdict: 'whole',
    without: ({ login }) => (login === undefined ? 'the login has no token that ends' : null),
    behaviour: ({ api }) => ({ loginEndsAt: middleOf(api) }),
    cure: 'After a 401, log in again and send the request again.',
    inChanges: true,
  },
  {
    title: 'the login is refused in the middle',
    verdict: 'fault',
    without: always,
    behaviour: replies({ status: 401, document: {} }, 'always'),
    cure: 'A refused login is an error.',
  },
  {
    title: 'the list is not found',
    verdict: 'fault',
    without: always,
    behaviour: () => ({ reply: () => ({ status: 404, document: {} }) }),
    cure: 'A list that is not there is an error. If it counted as empty, all its records would be gone.',
  },
  {
    title: 'the list of an answer is null',
    verdict: 'fault',
    without: ({ page }) => (page.by === 'bulkJob' ? 'the rows are lines of a file' : null),
    behaviour: (setup) =>
      replies((answer) => ({ ...answer, document: withoutList(answer, setup.api) }), 'always')(setup),
    cure: 'An answer without its list is an error, also if it names a next page.',
    inChanges: true,
  },
  {
    title: 'a page is HTML',
    verdict: 'fault',
    without: always,
    behaviour: replies(HTML, 'always'),
    cure: 'An answer that is not what the API gives is an error, also with the status 200.',
    inChanges: true,
  },
  {
    title: 'an integer is beyond 2^53',
    verdict: 'whole',
    without: always,
    behaviour: () => ({
      edit(parts) {
        parts.rows = parts.rows.map((row) => ({ ...row, [EXACT_MEMBER]: EXACT_MARK }));
      },
    }),
    cure: 'Parse answers with `parseExactly` of the SDK.',
  },
];

/** The document of an answer with null in place of its list, or of the list around its rows. */
function withoutList({ document = null }: ApiReply, { rows }: RestApi): JsonValue {
  const steps = parseDocumentPath(rows) ?? [];
  const fork = steps.indexOf(EACH);
  const toList = fork < 0 ? steps : steps.slice(0, fork);
  const copy = structuredClone(document);
  const last = toList.at(-1);
  const around = valueAt(copy, toList.slice(0, -1));
  if (last === undefined || typeof last === 'symbol') return null;
  if (isJsonObject(around)) around[String(last)] = null;
  return copy;
}

/** After a failure the server has moved on, as servers do that keep the place of a reader themselves. */
function restarting(): Behaviour {
  let hasMovedOn = false;
  return {
    start(page, _, start, size) {
      if (page === 1) hasMovedOn = false;
      return hasMovedOn ? start + size : start;
    },
    reply(page, attempt) {
      if (page !== 2 || attempt > 1) return null;
      hasMovedOn = true;
      return { status: 500, text: 'broken' };
    },
  };
}

export const EXACT_MEMBER = 'kitInteger';
