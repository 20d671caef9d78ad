import { WITHOUT_IMPORT } from '../../daemon/faults/refused-scope-fault.ts';
import { hasTrait } from '../../domain/delivery/reason.ts';
import type { RefusedWork } from '../../domain/ports/ledger/ledger-views.ts';
import { sentence } from '../../lib/text/sentence.ts';
import { type Paint, plural, printable } from './style.ts';

/** Lines about deliveries that are not sent because the API refuses their operation, the key or the plan. */
export function refusedLines(refused: readonly RefusedWork[], paint: Paint): string[] {
  const lines = refused.map(({ operation, count, reason }) => {
    const are = plural(count, 'delivery is', 'deliveries are');
    const what = hasTrait(reason, 'scope_denied') ? operation : `the key or the plan (${operation})`;
    return paint(
      'red',
      `${are} due and not sent, because the API refuses ${what}: ${printable(sentence(reason.message))}`,
    );
  });
  if (lines.length === 0) return [];
  const isImport = refused.some(({ operation }) => operation === 'product.import');
  return [
    ...lines,
    '  Correct the key or its rights: dpp-sync check shows them. Then the daemon or the next sync sends all due deliveries.',
    ...(isImport ? [`  ${WITHOUT_IMPORT}`] : []),
  ];
}
