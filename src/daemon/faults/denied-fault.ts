import type { SecretSource } from '../../config/secret-source.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import { fault } from '../../domain/faults.ts';
import type { Fault } from '../../lib/errors.ts';

/**
 * The fault for a 401, 402 or 403 of the API to a key, with what a person can do.
 *
 * @param key where the key comes from, if the caller knows it
 */
export function deniedFault(
  { by, detail }: Pick<Extract<Outcome, { kind: 'denied' }>, 'by' | 'detail'>,
  key: Pick<SecretSource, 'unset'> = { unset: [] },
): Fault {
  const answer = detail.status === null ? detail.message : `${detail.message} (HTTP ${detail.status})`;
  if (by === 'plan') {
    return fault('api.plan', `The API refuses the organisation's plan: ${answer}`, {
      path: 'target.apiKey',
      suggestion: 'API access needs the Enterprise plan: activate this plan.',
    });
  }
  return fault('api.key', `The API refuses the key: ${answer}`, {
    path: 'target.apiKey',
    suggestion:
      by === 'key'
        ? keyAdvice(
            key,
            'Check that the key is complete, belongs to this platform, and is neither expired nor revoked.',
          )
        : 'Give the key more scopes.',
  });
}

/**
 * What to do about a key that the API refuses. If the key is only the default of a placeholder, the advice names the
 * variable and never shows the key.
 *
 * @param otherwise the advice for a key that was given
 */
export function keyAdvice({ unset }: Pick<SecretSource, 'unset'>, otherwise: string): string {
  const [name] = unset;
  if (name === undefined) return otherwise;
  return `The variable ${name} is not set, so the key is the default that the config has for it. Set ${name} to a key of the platform.`;
}
