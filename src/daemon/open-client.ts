import { type ApiClient, createApiClient } from '../api/api-client.ts';
import { createLearntRate } from '../delivery/rate/learnt-rate.ts';
import { createRequestGate, type RequestGate } from '../delivery/rate/request-gate.ts';
import type { Pacing } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** The gate for all requests of a process to the API that a config names. */
export function openGate(
  { target }: RuntimeConfig,
  { clock, random = Math.random }: { clock: Clock; random?: (() => number) | undefined },
): RequestGate {
  return createRequestGate(createLearntRate(target.maxRate, random), clock);
}

/** The client of the API that a config names. Nothing is sent and no key is read before the first request. */
export function openClient(
  { target, profile }: RuntimeConfig,
  tools: { secrets: SecretStore; clock: Clock; log: Logger; version: string; pacing: Pacing; connections?: number },
): ApiClient {
  const { baseUrl } = target;
  // A reload of the config may replace the sources of the keys.
  const apiKey = { read: () => target.apiKey.read() };
  const publishKey = target.publishKey === null ? null : { read: () => (target.publishKey ?? target.apiKey).read() };
  return createApiClient({ baseUrl, profile, apiKey, ...(publishKey === null ? {} : { publishKey }), ...tools });
}
