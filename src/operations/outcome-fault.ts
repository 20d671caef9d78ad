import type { SecretSource } from '../config/interpolate.ts';
import { askedWaitMs, type Outcome, type OutcomeDetail } from '../domain/delivery/outcome.ts';
import { fault } from '../domain/faults.ts';
import { FAULT_CASES, FAULTS } from '../domain/words/faults.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import { Fault, messageOf } from '../lib/errors.ts';

/** A request that a person has made, with the texts for its failure. */
interface Attempted {
  /** The failure as the beginning of a sentence: `The reports cannot be read`. */
  failure: string;
  /** What to do if the API refuses this request, as a full sentence. */
  cure: string;
  /** For a request that changes something: the advice if it is unknown whether it took effect. */
  unconfirmedCure?: string;
}

/**
 * The error of a command whose request to the API did not succeed. `api.unreachable`, `api.key` and `api.plan` are
 * about the environment, `api.refused` is about the request. `api.answer`: the answer cannot be used. `api.doubt`: the
 * request may have taken effect.
 */
export function outcomeFault(outcome: Outcome, { failure, cure, unconfirmedCure }: Attempted): Fault {
  if (outcome.kind === 'accepted') return fault('internal', `${failure}, although the API accepted the request.`);
  const { detail } = outcome;
  const said = `${detail.message}${detail.status === null ? '' : ` (HTTP ${detail.status})`}`;
  const message = `${failure}: ${said}`;
  switch (outcome.kind) {
    case 'denied':
      return deniedFault(outcome);
    case 'refused':
    case 'gated':
    case 'exists':
      return fault('api.refused', [message, ...fieldLines(detail)].join('\n'), { suggestion: cure });
    case 'unavailable':
      if (outcome.local) return fault('machine.limit', message);
      return fault('api.unreachable', message, { suggestion: waitAdvice(outcome) });
    case 'in_flight':
    case 'throttled':
      return fault('api.unreachable', message, { suggestion: waitAdvice(outcome) });
    case 'ambiguous':
      if (unconfirmedCure !== undefined) {
        return fault('api.doubt', `It is unknown whether the request took effect: ${said}`, {
          suggestion: unconfirmedCure,
        });
      }
      if (outcome.cause === 'unreadable_answer') {
        return fault('api.answer', message, {
          suggestion:
            'Compare the API document of the platform with the profile: `dpp-sync check --openapi FILE`. docs/configuration.md describes the profile.',
        });
      }
      return fault('api.unreachable', message, { suggestion: waitAdvice(outcome) });
  }
}

/** The problems of fields that the message does not contain. */
function fieldLines({ message, fields = {} }: OutcomeDetail): string[] {
  return Object.entries(fields).flatMap(([field, problem]) =>
    message.includes(problem) ? [] : [`  ${field}: ${problem}`],
  );
}

function waitAdvice(outcome: Outcome): string {
  const waitMs = askedWaitMs(outcome);
  if (waitMs !== null && waitMs > 0) return `Run the command again in ${Math.ceil(waitMs / 1000)} s.`;
  return outcome.kind === 'in_flight'
    ? 'Run the command again in a moment.'
    : 'Run the command again when the API can be reached.';
}

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
      suggestion: FAULTS['api.plan'].cure,
    });
  }
  return fault('api.key', `The API refuses the key: ${answer}`, {
    path: 'target.apiKey',
    suggestion: by === 'key' ? keyAdvice(key, FAULT_CASES['api.key'].request.cure) : FAULT_CASES['api.key'].scope.cure,
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

/** The error of a command, as plain JSON. */
export interface Failure {
  exitCode: number;
  code: string;
  /** The place in the config, or null. */
  path: string | null;
  message: string;
  suggestion: string | null;
}

/**
 * Converts an error to the form that people and scripts get. An error of SQLite about the ledger's file becomes a
 * `Fault`. Any other error that is not a `Fault` is a defect of the program, with exit code 1.
 */
export function failureOf(error: unknown): Failure {
  const known = error instanceof Fault ? error : ledgerFaultOf(error);
  if (known === null) {
    return failureOf(
      fault('internal', `Something happened that dpp-sync is not prepared for: ${messageOf(error)}`, {
        suggestion: 'Run the command again with --log-level debug to see where it happened.',
      }),
    );
  }
  const { exitCode, code, path, message, suggestion } = known;
  return { exitCode, code, path: path ?? null, message, suggestion: suggestion ?? null };
}

/** Makes a fault from a failure of another process. */
export function faultOf({ exitCode, code, path, message, suggestion }: Failure): Fault {
  return new Fault(code, exitCode, message, {
    ...(path === null ? {} : { path }),
    ...(suggestion === null ? {} : { suggestion }),
  });
}
