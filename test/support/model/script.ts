import type { ReplayState } from '../../../src/domain/ports/replay.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import type { CallPoint, Death } from './fence.ts';
import type { PersonsWay } from './honest-person.ts';
import type { JobFault } from './lossy-queues.ts';
import type { ApiFault } from './model-api.ts';
import type { Flavour } from './model-source.ts';
import type { Outage } from './outage.ts';

/** The ways in which the platform may treat Idempotency-Key. */
export const KEY_MODES = {
  honoured: { idempotency: 'honoured', idempotencyReplays: 'answers' },
  'honoured, successes alone': { idempotency: 'honoured', idempotencyReplays: 'successes' },
  'honoured, failures too': { idempotency: 'honoured', idempotencyReplays: 'everything' },
  'honoured, soon forgotten': { idempotency: 'honoured', idempotencyKeysMax: 1 },
  'publish alone': { idempotency: 'publish-only' },
  ignored: { idempotency: 'ignored' },
} as const satisfies Record<string, SandboxOptions>;
export type KeyMode = keyof typeof KEY_MODES;
export const KEY_MODE_NAMES = Object.keys(KEY_MODES) as KeyMode[];

export interface Setup {
  /** Feeds all chances of the run: latencies and jitters. */
  chance: number;
  /** Whether calls of the process are put off now and then. */
  halting: boolean;
  /** Whether all requests take the same time, so that answers come together and are settled in one commit. */
  even: boolean;
  /** Whether the source has everything from the start. */
  full: boolean;
  trust: 'publish' | 'honoured' | 'none';
  productUpdate: 'import' | 'none';
  importAnswer: 'per-row' | 'summary' | 'none';
  membersMax: number;
  /**
   * Whether new products are sent in imports: never, which is also meant where it is left out; after a proof; or at once, because
   * the ledger has the proof.
   */
  creates?: 'off' | 'untried' | 'proven';
  policy: { init: 'when-complete' | 'manual'; publish: 'manual' | 'auto'; withdraw: boolean };
  pageSize: number;
  /** Whether one of the source's streams tells only what has changed. */
  incremental: boolean;
  recheckBlockedMs: number;
}

export type Step =
  | { do: 'edit'; row: number; to: Flavour }
  | { do: 'fill'; to: Flavour }
  | { do: 'pull' }
  | { do: 'remap' }
  | { do: 'wait'; ms: number }
  | { do: 'crash'; death: Death; downMs: number }
  /** What is desired changes at a later call of the process. No time passes in this step. */
  | { do: 'change at'; point: CallPoint; steps: ChangeStep[] }
  | { do: 'fault'; fault: ApiFault }
  /** All requests of a kind fail for a while. The step waits for half of it. */
  | { do: 'outage'; outage: Outage }
  /** A gate that is closed may open by itself. */
  | { do: 'gate'; open: boolean; reopensMs: number | null }
  /** The wall clock is set; `asleep` while no process runs. */
  | { do: 'clock'; byMs: number; asleep: boolean }
  /** A backup is made, or the ledger's file is copied as it is. */
  | { do: 'backup'; by: 'command' | 'copy' }
  /** The last one takes the ledger's place: put there by `dpp-sync ledger restore`, or by hand before it. */
  | { do: 'restore'; by: 'command' | 'hand' }
  | { do: 'job_faults'; faults: JobFault[] }
  | { do: 'wipe' }
  | { do: 'ask'; product: number; status: 'published' | 'unpublished' }
  | { do: 'replay'; states: ReplayState[] }
  | { do: 'person'; way: PersonsWay };

/** A step that changes what is desired, or ends the process at this very call. */
export type ChangeStep = Extract<Step, { do: 'edit' | 'pull' | 'ask' }> | { do: 'kill' };

export interface Script {
  setup: Setup;
  steps: Step[];
}
