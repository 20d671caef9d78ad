import type { Outcome } from '../domain/delivery/outcome.ts';
import type { Listing, PlatformReader, Target } from '../domain/ports/target.ts';
import type { ApiHealth } from './admission/api-health.ts';

/** Requests that people make beside the deliveries. */
export type PlatformRequests = PlatformReader & Pick<Target, 'list'>;

/**
 * Sends the requests that people make in a process that also delivers. Each request waits for its turn (rate/request-gate.ts).
 * The deliveries learn from its answer too: they stop if the API refuses the key or the plan.
 */
export function createPlatformRequests({
  target,
  reader,
  health,
}: {
  target: Pick<Target, 'list'>;
  reader: PlatformReader;
  health: Pick<ApiHealth, 'observe'>;
}): PlatformRequests {
  function observe(outcome: Outcome, subject: string): void {
    // A refused scope may concern only this kind of request.
    health.observe({ outcome, access: 'read', subject, denial: 'request' }, null);
  }

  async function observed(listing: Promise<Listing>, subject: string): Promise<Listing> {
    const ended = await listing;
    observe(ended.complete ? ACCEPTED : ended.outcome, subject);
    return ended;
  }

  return {
    list: (kind, onPage, options) => observed(target.list(kind, onPage, options), kind),
    publications: (onPage, options) => observed(reader.publications(onPage, options), 'publications'),
    reports: (onPage, options) => observed(reader.reports(onPage, options), 'reports'),

    async passportPdf(productId, sink, signal) {
      const result = await reader.passportPdf(productId, sink, signal);
      observe(result.ok ? ACCEPTED : result.outcome, 'pdf');
      return result;
    },

    async createReport(request, signal) {
      const result = await reader.createReport(request, signal);
      observe(result.outcome, 'report');
      return result;
    },
  };
}

const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'bare', remoteId: null };
