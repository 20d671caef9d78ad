import type { OperationName } from '../api/endpoints.ts';
import { type Answer, conflict, type OperationRequest } from '../api/operation.ts';
import { productIn, stateOf } from '../items/passports.ts';
import { instead, type Lie, type LieParts } from './lie.ts';

/** A conflict without any word that says what it is about. */
const ODD: Answer = conflict('Request rejected: state E-1042.');

/** The passport of a queued publication becomes public after the list of publications was read once. */
const READS_BEFORE_PUBLIC = 1;

/** Publishes nothing, and gives this answer for each passport that could be published. */
function neverPublic(describe: string, answer: Answer): Lie {
  return {
    describe,
    tell: ({ 'passport.publish': honest }, parts) => ({
      'passport.publish': instead(honest, (request) =>
        canBePublished(request, parts) ? answer : honest.execute(request),
      ),
    }),
  };
}

/** True if there is a passport that is not public. The gates are not asked. */
function canBePublished(request: OperationRequest, { collections, ids }: LieParts): boolean {
  const product = productIn(collections, ids, request);
  const passport = product && collections.passports.find(request.organizationId, 'product_id', product.rowId);
  return ['initialized', 'unpublished'].includes(stateOf(passport));
}

function answerOf(body: Answer['body'], status = 200): Answer {
  return { status, body, written: [] };
}

/** Answers each conflict of an operation in odd words. */
function oddWords(operation: OperationName, describe: string): Lie {
  return {
    describe,
    tell: ({ [operation]: honest }) => ({
      [operation]: instead(honest, (request) => {
        const answer = honest.execute(request);
        return answer.status === 409 ? ODD : answer;
      }),
    }),
  };
}

/** Does the work and answers with a conflict. */
function refusesWhatIsDone(operation: OperationName, describe: string): Lie {
  return {
    describe,
    tell: ({ [operation]: honest }) => ({
      [operation]: instead(honest, (request) => {
        const answer = honest.execute(request);
        if (answer.status >= 300) return answer.status === 409 ? ODD : answer;
        return { ...ODD, written: [honest.naturalKey(request) ?? ''] };
      }),
    }),
  };
}

/** Refuses the first request for each product without doing anything. */
function refusesOnce(operation: OperationName, describe: string): Lie {
  return {
    describe,
    tell({ [operation]: honest }, { collections, ids }) {
      const refused = new Set<string>();
      const execute = (request: OperationRequest): Answer => {
        const product = `${request.organizationId} ${request.params['product_id'] ?? ''}`;
        if (refused.has(product) || !productIn(collections, ids, request)) return honest.execute(request);
        refused.add(product);
        return ODD;
      };
      return { [operation]: instead(honest, execute) };
    },
  };
}

export const PASSPORT_LIES = {
  'passport.init:odd-words': oddWords(
    'passport.init',
    'The 409 for a product that has a passport does not say that it has one.',
  ),
  'passport.init:refuses-once': refusesOnce(
    'passport.init',
    'The first request for each product makes no passport and is answered 409 in odd words.',
  ),
  'passport.init:refuses-always': {
    describe: 'No passport is made. The answer is 409 in odd words.',
    tell: ({ 'passport.init': honest }, { collections, ids }) => ({
      'passport.init': instead(honest, (request) =>
        productIn(collections, ids, request) ? ODD : honest.execute(request),
      ),
    }),
  },
  'passport.init:refuses-done': refusesWhatIsDone(
    'passport.init',
    'The passport is made. The answer is 409 in odd words.',
  ),
  'passport.publish:odd-words': oddWords(
    'passport.publish',
    'Each 409 is in odd words, for a passport that is published already and for a gate.',
  ),
  'passport.publish:refuses-done': refusesWhatIsDone(
    'passport.publish',
    'The passport is published. The answer is 409 in odd words.',
  ),
  'passport.publish:accepted': neverPublic('Nothing is published. The answer is 202 with `{}`.', answerOf({}, 202)),
  'passport.publish:queued': neverPublic(
    'Nothing is published. The answer is 202 with `{"status": "queued"}`.',
    answerOf({ status: 'queued' }, 202),
  ),
  'passport.publish:pending-review': neverPublic(
    'Nothing is published. The answer is 200 with `{"status": "pending_review"}`.',
    answerOf({ status: 'pending_review' }),
  ),
  'passport.publish:initialized': neverPublic(
    'Nothing is published. The answer is 200 with `{"status": "initialized"}`.',
    answerOf({ status: 'initialized' }),
  ),
  'passport.publish:queued-then-public': {
    describe:
      'The answer is 202 with `{"status": "queued"}`. The passport is public after the publications were read once.',
    tell({ 'passport.publish': publish, 'publication.list': list }, parts) {
      const queued = new Map<string, { request: OperationRequest; reads: number }>();
      const publishLater = (request: OperationRequest): Answer => {
        if (!canBePublished(request, parts)) return publish.execute(request);
        const product = `${request.organizationId} ${request.params['product_id'] ?? ''}`;
        if (!queued.has(product)) queued.set(product, { request, reads: 0 });
        return answerOf({ status: 'queued' }, 202);
      };
      const read = (request: OperationRequest): Answer => {
        for (const [product, waiting] of queued) {
          if (waiting.request.organizationId !== request.organizationId) continue;
          waiting.reads += 1;
          if (waiting.reads <= READS_BEFORE_PUBLIC) continue;
          queued.delete(product);
          publish.execute({ ...waiting.request, now: request.now });
        }
        return list.execute(request);
      };
      return {
        'passport.publish': instead(publish, publishLater),
        'publication.list': instead(list, read),
      };
    },
  },
} as const satisfies Record<string, Lie>;
