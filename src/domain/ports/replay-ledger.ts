import type { JsonValue } from '../../lib/json.ts';
import type { MappedRecord } from './intake.ts';
import type { PassportReplay, ReplayCandidate, ReplayOutcome, ReplaySelection } from './replay.ts';
import type { ListableKind } from './target.ts';
import type { MissingSelection, NamedDelivery, NamedSelection } from './unconfirmed.ts';

/** What people decide about items that are stuck: replays and manual resolutions. Each method is one whole transaction. */
export interface ReplayLedger {
  /** Stored records behind what a selection names, in pages by record id. */
  replayCandidates(request: { selection: ReplaySelection; afterId: number; limit: number }): Promise<ReplayCandidate[]>;
  /**
   * Stages mapped records anew as new revisions, even where the payload is the same: what was refused is asked again
   * under a new key. Where the item has moved on by itself nothing is staged, and a delivery in doubt is left alone. With
   * `dryRun` all of it is undone again: only what it came to is told.
   */
  replay(request: { records: readonly MappedRecord[]; dryRun: boolean }): Promise<ReplayOutcome>;
  /**
   * Sends deliveries in doubt again on a person's word, also those whose record is gone. Gives how many there are; with
   * `dryRun` nothing else.
   */
  forceUnconfirmed(request: { selection: ReplaySelection; dryRun: boolean }): Promise<number>;
  /**
   * Asks again for passports that got stuck, as new revisions, where their products are complete or they are to be
   * withdrawn. With `dryRun` it only tells.
   */
  replayPassports(request: { selection: ReplaySelection; dryRun: boolean }): Promise<PassportReplay>;
  /** What a person may settle of the items with this key, or with this natural key where none has the key. */
  deliveriesNamed(name: string): Promise<NamedDelivery[]>;
  /** How many deliveries a selection holds, and those after an id. */
  countSelected(selection: NamedSelection): Promise<number>;
  selectedDeliveries(request: NamedSelection & { afterId: number; limit: number }): Promise<NamedDelivery[]>;
  /**
   * A person accepts that items are gone from their sources: items with this key or natural key, or all of a kind and a
   * source. Returns their number; with `dryRun` it only counts.
   */
  acceptMissing(request: MissingSelection & { dryRun?: boolean }): Promise<number>;
  /** The key of the item that is bound to this remote id, or null. */
  boundTo(kind: ListableKind, remoteId: JsonValue): Promise<string | null>;
}
