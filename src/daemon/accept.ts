import { ITEM_KINDS } from '../domain/item.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Acceptance } from '../operations/runtime.ts';

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
