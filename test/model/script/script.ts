import type { ReplayState } from '../../../src/domain/ports/ledger/replay-ledger.ts';
import type { Profile } from '../../../src/domain/profile.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import type { CallPoint, Death } from '../world/fence.ts';
import type { PersonsWay } from '../world/honest-person.ts';
import type { JobFault } from '../world/lossy-queues.ts';
import type { ApiFault } from '../world/model-api.ts';
import type { Flavour } from '../world/model-source.ts';
import type { Outage } from '../world/outage.ts';
import type { Form } from '../world/platform-forms.ts';

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
  /** The seed of all random numbers of the run, such as latencies and jitters. */
  chance: number;
  /** Whether some calls of the process are delayed. */
  halting: boolean;
  /** Whether all requests take the same time. Then answers come together and are settled in one commit. */
  even: boolean;
  /** Whether the source has everything from the start. */
  full: boolean;
  /** How many products the source has beside the rows that scripts can change one by one; 0 without this setting. */
  crowd?: number;
  trust: 'publish' | 'honoured' | 'none';
  productUpdate: 'import' | 'none';
  importAnswer: 'per-row' | 'summary' | 'none';
  membersMax: number;
  /**
   * Whether new products are sent in imports: never (`off`, the default), after a proof (`untried`), or at once because
   * the ledger has the proof (`proven`).
   */
  creates?: 'off' | 'untried' | 'proven';
  policy: { init: 'when-complete' | 'manual'; publish: 'manual' | 'auto'; withdraw: boolean };
  pageSize: number;
  /** Whether one stream of the source gives only changes. */
  incremental: boolean;
  recheckBlockedMs: number;
  /** How the platform differs from an honest one; it is honest without this setting. */
  platform?: Platform;
}

/** A platform that may lie, has other ids and says less, and that other people use too. */
export interface Platform extends Required<Pick<SandboxOptions, 'lies' | 'ids' | 'answers'>> {
  form: Form;
  /** Lists that the API refuses with this status. */
  closed: { lists: readonly ListOperation[]; status: 403 | 404 } | null;
  /** What the config and the profile of its client say about writes that no list can show. */
  assumesEmpty: boolean;
  withoutProof: Profile['answers']['withoutProof'];
  foreign: { products: number; materials: number };
}

export type ListOperation = 'product.list' | 'material.list' | 'publication.list';

export type Step =
  | { do: 'edit'; row: number; to: Flavour }
  | { do: 'fill'; to: Flavour }
  | { do: 'pull' }
  | { do: 'remap' }
  | { do: 'wait'; ms: number }
  | { do: 'crash'; death: Death; downMs: number }
  /** The desired state changes at a later call of the process. No time passes in this step. */
  | { do: 'change at'; point: CallPoint; steps: ChangeStep[] }
  | { do: 'fault'; fault: ApiFault }
  /** All requests of a kind fail for a while. The step waits for half of it. */
  | { do: 'outage'; outage: Outage }
  /** The platform begins or ends to refuse writes by a business rule. A rule that has begun may end by itself. */
  | { do: 'gate'; open: boolean; reopensMs: number | null }
  /** The wall clock is set. With `asleep` no process runs meanwhile. */
  | { do: 'clock'; byMs: number; asleep: boolean }
  /** A backup is made, or the ledger's file is copied as it is. */
  | { do: 'backup'; by: 'command' | 'copy' }
  /** The last backup takes the place of the ledger: by `dpp-sync ledger restore` alone, or first by hand. */
  | { do: 'restore'; by: 'command' | 'hand' }
  | { do: 'job_faults'; faults: JobFault[] }
  | { do: 'wipe' }
  | { do: 'ask'; product: number; status: 'published' | 'unpublished' }
  | { do: 'replay'; states: ReplayState[] }
  | { do: 'person'; way: PersonsWay }
  /**
   * The platform begins to lie, to say less, and to refuse lists. Without this step it does so from the start, and it
   * always tells its lies about imports, because a proof of imports is valid for a platform that stays the same.
   */
  | { do: 'turn' };

/** A step that changes the desired state, or that ends the process at the chosen call. */
export type ChangeStep = Extract<Step, { do: 'edit' | 'pull' | 'ask' }> | { do: 'kill' };

export interface Script {
  setup: Setup;
  steps: Step[];
}
