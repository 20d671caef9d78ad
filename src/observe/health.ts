import type { ApiWait } from '../domain/api-wait.ts';
import type { Clock } from '../lib/clock.ts';

export const API_STANDINGS = ['ok', 'unreachable', 'throttled', 'denied_key', 'denied_plan', 'denied_scope'] as const;
/** The state of the API by its last answers. `throttled`: it asks for a wait beyond a minute. */
export type ApiStanding = (typeof API_STANDINGS)[number];

/** How a daemon is, in words that hold no data: anybody may ask. */
export interface HealthReport {
  /** `unhealthy`: it cannot do its work, and a restart may help. `degraded`: it waits for something outside. */
  status: 'ok' | 'degraded' | 'unhealthy' | 'stopping';
  /** `lost`: its file, its log or its lock was removed or replaced, and this process ends. */
  ledger: 'ok' | 'unwritable' | 'lost';
  queue: 'ok' | 'unreachable';
  api: ApiStanding;
  /** The wait beyond a minute that the API has asked for, where it has, as times in ISO 8601. */
  apiWait?: { since: string; until: string | null; askAgainAt: string };
}

export interface Health {
  check(): Promise<HealthReport>;
}

/** What takes longer than this to answer counts as out of reach. */
const ANSWER_WITHIN_MS = 3000;
/** However often somebody asks, ledger and queue are asked no more often than this. */
const KEPT_MS = 2000;

/**
 * A daemon is unhealthy while it cannot write its ledger or reach its queue. An API that is away, refuses or asks to wait is no
 * reason to restart anything: the work waits in the ledger.
 */
export function createHealth(options: {
  touchLedger: () => Promise<void>;
  /** Whether the ledger is this process's own no more, which never changes back. */
  ledgerLost: () => boolean;
  askQueue: () => Promise<unknown>;
  api: () => ApiStanding;
  apiWait: () => ApiWait | null;
  stopping: () => boolean;
  clock: Clock;
}): Health {
  const { touchLedger, ledgerLost, askQueue, api, apiWait, stopping, clock } = options;
  let last: { askedAt: number; parts: Promise<Pick<HealthReport, 'ledger' | 'queue'>> } | null = null;

  async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
    const timer = new AbortController();
    const late = clock.sleep(ANSWER_WITHIN_MS, timer.signal).then(() => false);
    const answer = work().then(
      () => true,
      // Why it fails is logged where the work is done; here it only counts that it does.
      () => false,
    );
    try {
      return await Promise.race([answer, late]);
    } finally {
      timer.abort();
    }
  }

  async function ask(): Promise<Pick<HealthReport, 'ledger' | 'queue'>> {
    const [written, answered] = await Promise.all([succeeds(touchLedger), succeeds(askQueue)]);
    return { ledger: written ? 'ok' : 'unwritable', queue: answered ? 'ok' : 'unreachable' };
  }

  return {
    async check() {
      const now = clock.ticks();
      if (last === null || now - last.askedAt >= KEPT_MS) last = { askedAt: now, parts: ask() };
      const { ledger, queue } = await last.parts;
      const wait = apiWait();
      const standing = { ledger: ledgerLost() ? ('lost' as const) : ledger, queue, api: api() };
      const parts = { ...standing, ...(wait === null ? {} : { apiWait: timesOf(wait) }) };
      if (parts.ledger === 'lost') return { status: 'unhealthy', ...parts };
      if (stopping()) return { status: 'stopping', ...parts };
      if (ledger !== 'ok' || queue !== 'ok') return { status: 'unhealthy', ...parts };
      return { status: parts.api === 'ok' ? 'ok' : 'degraded', ...parts };
    },
  };
}

/** Without the API's words: anybody may ask for the health. */
function timesOf({ since, until, askAgainAt }: ApiWait): NonNullable<HealthReport['apiWait']> {
  const isoOf = (at: number): string => new Date(at).toISOString();
  return { since: isoOf(since), until: until === null ? null : isoOf(until), askAgainAt: isoOf(askAgainAt) };
}
