import type { Outcome } from '../domain/outcome.ts';
import type { PlatformReader } from '../domain/ports/platform.ts';
import type { Listing, Target } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import type { Scope } from '../domain/scope.ts';
import type { ApiHealth } from './admission/api-health.ts';

/** Requests that people make beside the deliveries. */
export type PlatformRequests = PlatformReader & Pick<Target, 'list'>;

/**
 * Requests of people in a process that delivers as well. Each goes out at once. What its answer shows holds for the
 * deliveries too: they slow down after a 429, and stop where the key or the plan is refused.
 */
export function createPlatformRequests({
  target,
  reader,
  health,
  profile,
}: {
  target: Pick<Target, 'list'>;
  reader: PlatformReader;
  health: Pick<ApiHealth, 'observe'>;
  profile: Profile;
}): PlatformRequests {
  function take(outcome: Outcome, subject: string, scope: Scope = 'read'): void {
    // A refused scope may be about this kind of request alone.
    health.observe({ outcome, scope, subject, denial: 'request' }, null);
  }

  async function listed(listing: Promise<Listing>, subject: string): Promise<Listing> {
    const end = await listing;
    take(end.complete ? TAKEN : end.outcome, subject);
    return end;
  }

  return {
    list: (kind, onPage, options) => listed(target.list(kind, onPage, options), kind),
    publications: (onPage, options) => listed(reader.publications(onPage, options), 'publications'),
    reports: (onPage, options) => listed(reader.reports(onPage, options), 'reports'),

    async passportPdf(productId, sink, signal) {
      const result = await reader.passportPdf(productId, sink, signal);
      take(result.ok ? TAKEN : result.outcome, 'pdf');
      return result;
    },

    async createReport(request, signal) {
      const result = await reader.createReport(request, signal);
      take(result.outcome, 'report', profile.scopes.reportCreate);
      return result;
    },
  };
}

const TAKEN: Outcome = { kind: 'accepted', remoteId: null };
