import type { JsonValue } from '../../../lib/json.ts';
import type { MappedRecord } from '../intake.ts';
import type {
  FormReplay,
  FormReplayPage,
  PassportReplay,
  ReplayCandidate,
  ReplayOutcome,
  ReplaySelection,
} from '../replay.ts';
import type { ListableKind } from '../target.ts';
import type { MissingSelection, NamedDelivery, NamedSelection } from '../unconfirmed.ts';

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
