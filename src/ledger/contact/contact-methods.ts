import type { ItemKind } from '../../domain/item.ts';
import type { ContactLedger } from '../../domain/ports/contact-ledger.ts';
import type { GroupCommit } from '../store/group-commit.ts';
import type { Adoption } from './adoption.ts';
import type { Contact } from './contact.ts';

/** The methods of the ledger's port for first contact. */
export function contactMethods({
  commit,
  contact,
  adoption,
  reading,
}: {
  commit: Pick<GroupCommit, 'run'>;
  contact: Contact;
  adoption: Adoption;
  reading: <T>(read: () => T) => T;
}): ContactLedger {
  return {
    contactSteps: async () => reading(() => contact.contactSteps()),
    isFreshlyListed: async (list) => reading(() => contact.isFreshlyListed(list)),
    beginListing: (list) => commit.run(() => contact.beginListing(list)),
    storeListed: (page) => commit.run(() => contact.storeListed(page)),
    endListing: (end) => commit.run(() => adoption.endListing(end)),
    confirmListing: (kind) => commit.run(() => contact.confirmListing(kind)),
    failListing: (failure) => commit.run(() => contact.failListing(failure)),
    compareListed: (kind) => commit.run(() => adoption.compare(kind)),
    async acceptAdopted(source) {
      const counts: Partial<Record<ItemKind, number>> = {};
      // Accepts only the items that are blocked now: a person has not seen the later ones.
      const upTo = reading(() => adoption.lastStuck());
      let afterId: number | null = 0;
      while (afterId !== null) {
        const from: number = afterId;
        const page = await commit.run(() => adoption.accept(source, { afterId: from, upTo }));
        for (const kind of page.kinds) counts[kind] = (counts[kind] ?? 0) + 1;
        afterId = page.lastId;
      }
      return counts;
    },
    answerParts: (answer) => commit.run(() => adoption.answerParts(answer)),
    adoptAs: (choice) => commit.run(() => adoption.adoptAs(choice)),
  };
}
