import { ITEM_KINDS, type ItemKind } from '../domain/item.ts';
import type { GuardedRead } from '../domain/ports/guarded-read.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';

/** What a person has accepted: guarded reads, and blocked changes of adopted items. */
export interface Acceptance {
  sources: readonly string[];
  /** Reads that the guard treats as broken exports. */
  guarded: GuardedRead[];
  /** How many changes of adopted items were blocked. */
  adopted: { source: string; kind: ItemKind; count: number }[];
}

/** Accepts all reads and changes of these sources that are guarded or blocked at the moment. */
export async function accept(ledger: IntakeLedger & ContactLedger, named: readonly string[]): Promise<Acceptance> {
  const sources = [...new Set(named)];
  const { reads } = await ledger.accept({ sources });
  const adopted: Acceptance['adopted'] = [];
  for (const source of sources) {
    const counts = await ledger.acceptAdopted(source);
    for (const kind of ITEM_KINDS) {
      const count = counts[kind] ?? 0;
      if (count > 0) adopted.push({ source, kind, count });
    }
  }
  return { sources, guarded: reads, adopted };
}
