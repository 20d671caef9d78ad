import type { Outcome } from '../../domain/delivery/outcome.ts';
import { fault } from '../../domain/faults.ts';
import type { Fault } from '../../lib/errors.ts';

/** The fault for a 401, 402 or 403 of the API to a key, with what a person can do. */
export function deniedFault({ by, detail }: Pick<Extract<Outcome, { kind: 'denied' }>, 'by' | 'detail'>): Fault {
  const answer = detail.status === null ? detail.message : `${detail.message} (HTTP ${detail.status})`;
  if (by === 'plan') {
    return fault('api.plan', `The API refuses the organisation's plan: ${answer}`, {
      path: 'target.apiKey',
      suggestion: 'API access needs the Enterprise plan: activate it.',
    });
  }
  return fault('api.key', `The API refuses the key: ${answer}`, {
    path: 'target.apiKey',
    suggestion:
      by === 'key'
        ? 'Check that the key is complete, neither expired nor revoked, and of this platform.'
        : 'Give the key more scopes.',
  });
}
