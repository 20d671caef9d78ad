import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { Traces } from '../observe/traces/create-traces.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/**
 * Opens the traces that a config asks for. Null if the config asks for none; then no package of OpenTelemetry is
 * loaded.
 *
 * @throws Fault `config.invalid` if the secret of a header is gone
 */
export async function openTraces(
  { observe: { traces } }: RuntimeConfig,
  options: {
    ledger: string;
    /** Reads in this thread, because each page asks. */
    views: Pick<LedgerViews, 'item' | 'run'>;
    version: string;
    clock: Clock;
    log: Logger;
  },
): Promise<Traces | null> {
  if (traces === null) return null;
  const { ledger, views, version, clock, log } = options;
  const headers = await Promise.all(
    Object.entries(traces.headers).map(async ([name, value]) => [name, await value.read()] as const),
  );
  const { createTraces } = await import('../observe/traces/create-traces.ts');
  return createTraces({
    endpoint: traces.endpoint,
    headers: Object.fromEntries(headers),
    sampleRatio: traces.sampleRatio,
    version,
    ledger,
    revisionOf(kind, key) {
      if (kind !== 'product' && kind !== 'material' && kind !== 'bom_item') return null;
      const item = views.item(kind, key);
      // An item that the page has not changed has no open delivery.
      return item === null || item.state === 'delivered' || item.state === 'superseded' ? null : item.revision;
    },
    runBeganAt: (run) => views.run(run)?.startedAt ?? null,
    now: () => clock.now(),
    log,
  });
}
