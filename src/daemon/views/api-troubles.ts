// The causes that the ledger does not know: the API is away, or refuses something. Everything that asks this process for causes gets
// them from here, so that the pages, the admin API and the commands list the same causes.

import type { Delivery } from '../../delivery/create-delivery.ts';
import type { ApiTrouble } from '../../domain/cause.ts';
import { type Access, OPERATIONS, type Operation, scopeOf } from '../../domain/delivery/operation.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { Clock } from '../../lib/clock.ts';

type Api = Pick<Delivery['health'], 'authorization' | 'unreachableSince' | 'longWait' | 'refused'>;

/** The present troubles with the API; none while it takes everything. */
export function apiTroubles(api: Api, clock: Pick<Clock, 'now' | 'ticks'>): ApiTrouble[] {
  const whole = { scope: null, operations: null };
  const state = api.authorization();
  if (!state.open) return [{ ...whole, kind: `denied_${state.by}`, message: state.reason.message, since: null }];
  const unreachable = api.unreachableSince();
  if (unreachable !== null) {
    return [{ ...whole, kind: 'unreachable', message: null, since: clock.now() - (clock.ticks() - unreachable) }];
  }
  const wait = api.longWait();
  if (wait !== null) return [{ ...whole, kind: 'throttled', message: wait.message, since: wait.since }];
  return [...Map.groupBy(api.refused(), ([access]) => scopeOf(access))].map(([scope, refused]) => ({
    kind: 'denied_scope',
    scope,
    operations: refused.flatMap(([access]) => (isOperation(access) ? [access] : [])),
    message: refused[0]?.[1].message ?? null,
    since: null,
  }));
}

function isOperation(access: Access): access is Operation {
  return OPERATIONS.some((operation) => operation === access);
}

/** The reads of this process, whose causes have the troubles with the API too. */
export function readsWithTroubles(reads: Reads, troubles: () => readonly ApiTrouble[]): Reads {
  return {
    ...reads,
    causes: (filter) => reads.causes(filter, troubles()),
    cause: (id) => reads.cause(id, troubles()),
  };
}
