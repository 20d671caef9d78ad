import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { ReloadStatus } from '../domain/ports/ledger/care-ledger.ts';
import type { Clock } from '../lib/clock.ts';

export const API_STANDINGS = ['ok', 'unreachable', 'throttled', 'denied_key', 'denied_plan', 'denied_scope'] as const;
/** The state of the API according to its last answers. `throttled`: the API asks for a wait of more than a minute. */
export type ApiStanding = (typeof API_STANDINGS)[number];

/** The health of a daemon. It contains no data of the ledger, because everybody may read it. */
export interface HealthReport {
  /** `unhealthy`: the daemon cannot work, and a restart may help. `degraded`: the daemon waits for the API. */
  status: 'ok' | 'degraded' | 'unhealthy' | 'stopping';
  /** `lost`: its file, its log or its lock was removed or replaced, and this process ends. */
  ledger: 'ok' | 'unwritable' | 'lost';
  queue: 'ok' | 'unreachable';
  api: ApiStanding;
  /** `refused` if the last reload refused the config; the former settings stay in use. */
  config?: 'refused';
  /** Since when the ledger cannot be written or the queue is out of reach, as far as somebody has asked. Times in ISO 8601. */
  downSince?: Partial<Record<'ledger' | 'queue', string>>;
  /** The wait of more than a minute that the API has asked for, if any. Times in ISO 8601. */
  apiWait?: { since: string; until: string | null; askAgainAt: string };
}

/** A part that takes longer than this to answer counts as out of reach. */
const ANSWER_WITHIN_MS = 3000;
/** An answer of ledger and queue is used again for this time, so that frequent requests cost nothing. */
const KEPT_MS = 2000;

/**
 * A daemon is unhealthy while it cannot write its ledger or reach its queue. A daemon is not unhealthy if the API is
 * away, refuses or asks to wait, because a restart would not help: the work waits in the ledger.
 */
export function createHealth(options: {
  touchLedger: () => Promise<void>;
  /** Whether this process has lost its ledger. A lost ledger stays lost. */
  ledgerLost: () => boolean;
  askQueue: () => Promise<unknown>;
  api: () => ApiStanding;
  apiWait: () => ApiWait | null;
  /** The result of the last reload of the config; null before the first one. */
  reload?: () => Pick<ReloadStatus, 'ok'> | null;
  stopping: () => boolean;
  clock: Clock;
}) {
  const { touchLedger, ledgerLost, askQueue, api, apiWait, reload, stopping, clock } = options;
  let last: { askedAt: number; parts: Promise<Pick<HealthReport, 'ledger' | 'queue'>> } | null = null;

  async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
    const timer = new AbortController();
    const late = clock.sleep(ANSWER_WITHIN_MS, timer.signal).then(() => false);
    const answer = work().then(
      () => true,
      // The part itself logs why it failed.
      () => false,
    );
    try {
      return await Promise.race([answer, late]);
    } finally {
      timer.abort();
    }
  }

  const downSince: NonNullable<HealthReport['downSince']> = {};
  const noteOf = (part: 'ledger' | 'queue', works: boolean): void => {
    if (works) delete downSince[part];
    else downSince[part] ??= new Date(clock.now()).toISOString();
  };

  async function ask(): Promise<Pick<HealthReport, 'ledger' | 'queue'>> {
    const [written, answered] = await Promise.all([succeeds(touchLedger), succeeds(askQueue)]);
    noteOf('ledger', written);
    noteOf('queue', answered);
    return { ledger: written ? 'ok' : 'unwritable', queue: answered ? 'ok' : 'unreachable' };
  }

  return {
    async check(): Promise<HealthReport> {
      const now = clock.ticks();
      if (last === null || now - last.askedAt >= KEPT_MS) last = { askedAt: now, parts: ask() };
      const { ledger, queue } = await last.parts;
      const wait = apiWait();
      const standing = { ledger: ledgerLost() ? ('lost' as const) : ledger, queue, api: api() };
      const parts = {
        ...standing,
        ...(Object.keys(downSince).length === 0 ? {} : { downSince: { ...downSince } }),
        ...(wait === null ? {} : { apiWait: timesOf(wait) }),
        ...configOf(reload?.()),
      };
      if (parts.ledger === 'lost') return { status: 'unhealthy', ...parts };
      if (stopping()) return { status: 'stopping', ...parts };
      if (ledger !== 'ok' || queue !== 'ok') return { status: 'unhealthy', ...parts };
      return { status: parts.api === 'ok' ? 'ok' : 'degraded', ...parts };
    },
  };
}

function configOf(reload: Pick<ReloadStatus, 'ok'> | null | undefined): Pick<HealthReport, 'config'> {
  return reload?.ok === false ? { config: 'refused' } : {};
}

/** Leaves out the API's message, because everybody may read the health. */
function timesOf({ since, until, askAgainAt }: ApiWait): NonNullable<HealthReport['apiWait']> {
  const isoOf = (at: number): string => new Date(at).toISOString();
  return { since: isoOf(since), until: until === null ? null : isoOf(until), askAgainAt: isoOf(askAgainAt) };
}
