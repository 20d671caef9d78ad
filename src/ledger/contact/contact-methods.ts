import type { ItemKind } from '../../domain/item.ts';
import type { ContactLedger } from '../../domain/ports/contact-ledger.ts';
import type { GroupCommit } from '../store/group-commit.ts';
import type { Adoption } from './adoption.ts';
import type { AdoptionByHand } from './adoption-by-hand.ts';
import type { Contact } from './contact.ts';
import type { Listings } from './listings.ts';

/** The methods of the ledger's port for first contact. */
export function contactMethods({
  commit,
  contact,
  listings,
  adoption,
  adoptionByHand,
  reading,
}: {
  commit: Pick<GroupCommit, 'run'>;
  contact: Pick<Contact, 'contactSteps'>;
  listings: Listings;
  adoption: Adoption;
  adoptionByHand: AdoptionByHand;
  reading: <T>(read: () => T) => T;
}): ContactLedger {
  return {
    contactSteps: async () => reading(() => contact.contactSteps()),
    isFreshlyListed: async (list) => reading(() => listings.isFreshlyListed(list)),
    beginListing: (list) => commit.run(() => listings.beginListing(list)),
    storeListed: (page) => commit.run(() => listings.storeListed(page)),
    endListing: (end) => commit.run(() => adoption.endListing(end)),
    confirmListing: (kind) => commit.run(() => listings.confirmListing(kind)),
    failListing: (failure) => commit.run(() => listings.failListing(failure)),
    compareListed: (kind) => commit.run(() => adoption.compare(kind)),
    async acceptAdopted(source) {
      const counts: Partial<Record<ItemKind, number>> = {};
      // Accepts only the items that are blocked now: a person has not seen the later ones.
      const upTo = reading(() => adoptionByHand.lastStuck());
      let afterId: number | null = 0;
      while (afterId !== null) {
        const from: number = afterId;
        const page = await commit.run(() => adoptionByHand.accept(source, { afterId: from, upTo }));
        for (const kind of page.kinds) counts[kind] = (counts[kind] ?? 0) + 1;
        afterId = page.lastId;
      }
      return counts;
    },
    answerParts: (answer) => commit.run(() => adoptionByHand.answerParts(answer)),
    adoptAs: (choice) => commit.run(() => adoptionByHand.adoptAs(choice)),
  };
}
