import { isDeepStrictEqual } from 'node:util';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** Each changed setting that cannot be replaced while the daemon runs, as a full sentence. */
export function restartNeeded(present: RuntimeConfig, next: RuntimeConfig): string[] {
  const pairs: [path: string, before: unknown, after: unknown][] = [
    ['ledger', present.ledger, next.ledger],
    ['queue', present.queue, next.queue],
    ['target.baseUrl', present.target.baseUrl, next.target.baseUrl],
    ['target.profile', present.profile, next.profile],
    ['target.firstContact', present.target.firstContact, next.target.firstContact],
    ['target.bom', present.target.bom, next.target.bom],
    ['target.publishKey', present.target.publishKey === null, next.target.publishKey === null],
    ['observe.traces', tracesOf(present), tracesOf(next)],
    ['web', addressOf(present), addressOf(next)],
  ];
  return pairs
    .filter(([, before, after]) => !isDeepStrictEqual(before, after))
    .map(
      ([path]) =>
        `${path}: This value has changed, but the daemon keeps the value with which it was started. Restart the daemon, or undo this change.`,
    );
}

function tracesOf({ observe: { traces } }: RuntimeConfig): unknown {
  return traces === null ? null : { ...traces, headers: Object.keys(traces.headers) };
}

function addressOf({ web }: RuntimeConfig): unknown {
  return web === null ? null : { host: web.host, port: web.port };
}
