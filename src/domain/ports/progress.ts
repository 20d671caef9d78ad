import type { DeliveryState } from '../delivery/delivery.ts';
import type { Operation, Scope } from '../delivery/operation.ts';
import type { ApiWait } from '../delivery/outcome.ts';
import type { Reason } from '../delivery/stored-reason.ts';
import type { ItemKind, SubjectKind } from '../item.ts';
import type { RunResult } from './intake.ts';
import type { ContactList } from './ledger/contact-ledger.ts';
import type { ListableKind } from './target.ts';

/**
 * The events that the engine reports while it works, for progress bars, metrics and logs. The engine does not depend on
 * a listener.
 */
export type ProgressEvent =
  | {
      type: 'page';
      source: string;
      stream: string;
      read: number;
      changed: number;
      done: number | null;
      total: number | null;
    }
  | { type: 'run_ended'; source: string; result: RunResult }
  /**
   * The guard holds a stream whose records no longer make items that they made. A stream that was held during its own
   * run is not reported here, because the run reports it.
   */
  | { type: 'guard_held'; source: string; stream: string; message: string }
  | { type: 'mapped'; source: string; mapped: number; excluded: number; quarantined: number }
  | {
      type: 'settled';
      kind: SubjectKind;
      key: string;
      operation: Operation;
      state: DeliveryState;
      revision: number;
      /** When the request was sent and when its answer came, in milliseconds since the epoch; null after a read-back. */
      times: { sentAt: number; answeredAt: number } | null;
      /** HTTP status, null if there was no answer or no request. */
      status: number | null;
      /** Null after a read-back, or if another delivery of the same request has reported it. */
      latencyMs: number | null;
      reason: Reason | null;
      /** True for a write that was sent again and failed for the same reason, so that nothing is new. */
      failedAgain: boolean;
    }
  | {
      type: 'request';
      operation: Operation | 'list' | 'publications' | 'ping';
      outcome: string;
      retry: boolean;
      /** How long a write took, in milliseconds; null for all other requests. */
      latencyMs: number | null;
    }
  /** A list of the platform is read before the first create; `read` entries are stored so far. */
  | { type: 'listing'; list: ContactList; read: number; done: boolean }
  /** Items were found in a list of the platform, or a person has to decide whether they are there. */
  | { type: 'adopted'; kind: ListableKind; adopted: number; ambiguous: number }
  /** The API refuses this scope; with null it refuses everything. */
  | { type: 'paused'; scope: Scope | null; reason: Reason }
  | { type: 'resumed'; scope: Scope | null }
  /** An outage of the API has begun or ended, according to its last answers. With `writesAlone` the API can be read. */
  | { type: 'outage'; away: boolean; writesAlone: boolean }
  /** The config was reloaded, or was refused and the former settings stay in use. */
  | { type: 'reload'; ok: boolean }
  /** A backup of the ledger was made, or could not be made. */
  | { type: 'backup'; ok: boolean }
  /** The API asks for a wait beyond a minute; with null, that wait is over. */
  | { type: 'api_wait'; wait: ApiWait | null };

export type Emit = (event: ProgressEvent) => void;

/** The times of one page between the source and the ledger, in milliseconds since the epoch. */
interface PageTimes {
  source: string;
  stream: string;
  run: number;
  /** The number of the page in its stream and run, from 1. */
  page: number;
  /** When the page was read and its job was enqueued. */
  readAt: number;
  mapBeganAt: number;
  stageBeganAt: number;
  storedAt: number;
}

/** Called when a page was stored, with the items that its mapping has made. It must not throw. */
export type OnPageStored = (times: PageTimes, items: Iterable<{ kind: ItemKind; key: string }>) => void;
