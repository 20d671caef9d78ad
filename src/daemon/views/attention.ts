import type { AdoptedChanges } from '../../domain/ports/first-contact.ts';
import type {
  Duplicates,
  ItemsInOtherForm,
  LedgerViews,
  StuckDelivery,
  WaitingGroup,
} from '../../domain/ports/ledger/ledger-views.ts';
import type { UnprovenWrites } from '../../domain/unproven-words.ts';

/** What a person has to know about items that no list has shown, or that a list has shown before they were created. */
export interface ContactAttention {
  /** Changes of items that were at the platform before. */
  adopted: AdoptedChanges[];
  /** BOM items of products that were at the platform before. */
  parts: { products: number; bomItems: number };
  /** Writes whose answers prove too little and that no list has confirmed. They count as done. */
  unproven: UnprovenWrites[];
}

/** What a person needs to know about the deliveries of some sources. */
export interface Attention extends ContactAttention {
  /** Items that deliveries wait for and that are not being delivered, the item with the most deliveries first. */
  waitingFor: WaitingGroup[];
  /** Deliveries that need a person: the newest one of each cause, and how many have this cause. */
  stuck: (StuckDelivery & { count: number })[];
  /** Unconfirmed items that do not need a person, and when the first of them is looked up. */
  awaitingReadBack: ReturnType<LedgerViews['awaitingReadBack']>;
  /** Rows that make the same items as other rows. */
  duplicates: Duplicates;
  /** Items of all sources that were sent in another form than the profile has now. */
  otherForms: ItemsInOtherForm[];
}

const GROUPS_MAX = 200;
const STUCK_MAX = 5;
const DUPLICATES_MAX = 3;

/** @param sources the sources whose deliveries count; an empty list stands for all */
export function attentionOf(views: LedgerViews, sources: readonly string[]): Attention {
  const onTheWay = (state: WaitingGroup['state']) => state === 'due' || state === 'sending';
  return {
    waitingFor: views.waitingFor(GROUPS_MAX, sources).filter(({ state }) => !onTheWay(state)),
    stuck: views.stuckCauses(STUCK_MAX, sources),
    awaitingReadBack: views.awaitingReadBack(sources),
    duplicates: views.duplicates(DUPLICATES_MAX, sources),
    otherForms: views.otherForms(),
    adopted: views.adoptedChanges(sources),
    parts: views.unansweredParts(sources),
    unproven: views.unproven(sources),
  };
}
