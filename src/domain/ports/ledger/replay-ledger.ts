import type { JsonValue } from '../../../lib/json.ts';
import type { ItemKind } from '../../item.ts';
import type { MissingSelection, NamedDelivery, NamedSelection } from '../deliveries.ts';
import type { MappedRecord, PendingRecord } from '../intake.ts';
import type { ListableKind } from '../target.ts';

/**
 * Stores what people decide about stuck items: replays and manual resolutions. Each method is one whole transaction.
 */
export interface ReplayLedger {
  /** The stored records of the items that a selection names, in pages by record id. */
  replayCandidates(request: { selection: ReplaySelection; afterId: number; limit: number }): Promise<ReplayCandidate[]>;
  /**
   * Stages mapped records again as new revisions, even if the payload is the same, so that a refused write is sent
   * again under a new key. Nothing is staged if the item has changed its state meanwhile, or if its delivery is
   * unconfirmed. With `renames`, items take the natural keys of the source, although the platform knows them with white
   * space or padding around these keys. With `dryRun` all changes are undone, and only the result is returned.
   */
  replay(request: { records: readonly MappedRecord[]; renames?: boolean; dryRun: boolean }): Promise<ReplayOutcome>;
  /**
   * Sends items again that the platform has in another form than the profile now has. With `dryRun` it only counts.
   */
  replayForm(request: FormReplay): Promise<FormReplayPage>;
  /**
   * Sends unconfirmed deliveries again at a person's request, also deliveries whose record is gone. Returns their
   * number; with `dryRun` it changes nothing.
   */
  forceUnconfirmed(request: { selection: ReplaySelection; dryRun: boolean }): Promise<number>;
  /**
   * Sends stuck passports again, as new revisions, if their products are complete or the passports are to be withdrawn.
   * With `dryRun` it only counts.
   */
  replayPassports(request: { selection: ReplaySelection; dryRun: boolean }): Promise<PassportReplay>;
  /**
   * The deliveries that a person may settle, of the items with this key. If no item has the key, of the items with this
   * natural key.
   */
  deliveriesNamed(name: string): Promise<NamedDelivery[]>;
  /** How many deliveries a selection has, and the deliveries after an id. */
  countSelected(selection: NamedSelection): Promise<number>;
  selectedDeliveries(request: NamedSelection & { afterId: number; limit: number }): Promise<NamedDelivery[]>;
  /**
   * Marks missing items as accepted by a person: items with this key or natural key, also if the decision about them was
   * made before, or all undecided items of a kind and a source. Returns their number. With `dryRun` it only counts them.
   */
  acceptMissing(request: MissingSelection & { dryRun?: boolean }): Promise<number>;
  /** The key of the item that is bound to this remote id, or null. */
  boundTo(kind: ListableKind, remoteId: JsonValue): Promise<string | null>;
}

// The selection of what is sent again by a replay, and the result.

export interface ReplaySelection {
  /**
   * An empty list does not narrow the selection. The delivery states to replay, `quarantined` for records that could
   * not be mapped, and `superseded` for items whose last write a person has ended.
   */
  states: readonly ReplayState[];
  sources: readonly string[];
  /** Item keys, natural keys or record keys. */
  keys: readonly string[];
  /** The ids of deliveries. The records of their items are selected, whatever else is named. */
  deliveryIds: readonly number[];
  /** The id of a cause. Only its members are selected, whatever else is named. */
  cause?: string | undefined;
}

export const REPLAY_STATES = ['blocked', 'rejected', 'parked', 'in_doubt', 'quarantined', 'superseded'] as const;
export type ReplayState = (typeof REPLAY_STATES)[number];

/** A stored record that a selection found, to be mapped again. */
export type ReplayCandidate = PendingRecord;

export interface ReplayOutcome {
  /** Deliveries that were staged again. */
  staged: number;
  /** Records that still fail. */
  quarantined: number;
  /** Unconfirmed deliveries that were not sent, because only `force` sends them again. */
  leftUnconfirmed: number;
}

/** The result of a replay for stuck passports. */
export interface PassportReplay {
  /** How many passports are sent again. */
  asked: number;
  /** How many are not sent because their products are not complete. */
  incomplete: number;
  /** How many are unconfirmed and not sent, because only `force` sends them again. */
  leftUnconfirmed: number;
}

/** A page of the items that the platform has in another form than the profile now has. */
export interface FormReplay {
  /** An empty list does not narrow the selection. */
  sources: readonly string[];
  /** Item keys or natural keys. An empty list does not narrow the selection. */
  keys: readonly string[];
  kinds: readonly ItemKind[];
  /** Where the page begins: a form by its number, and the id of an item. Both are 0 for the first page. */
  after: FormPlace;
  dryRun: boolean;
}

interface FormPlace {
  form: number;
  id: number;
}

export type KindCounts = Partial<Record<ItemKind, number>>;

export interface FormReplayOutcome {
  /** Items that are sent again. */
  staged: KindCounts;
  /** Items that the API cannot update. They are blocked if their keys or kinds are named, and are only counted otherwise. */
  unsupported: KindCounts;
  /** Items whose present delivery is open. It sends all fields in the present form. */
  open: KindCounts;
}

export interface FormReplayPage extends FormReplayOutcome {
  /** Null after the last page. */
  next: FormPlace | null;
}
