import type { Count } from '../domain/ports/target.ts';
import { foreignAnswer, type Judge, meaningOf, NOTHING_EXPECTED } from './classify.ts';
import { type ListShape, readListPage } from './list-page.ts';
import { type Patience, patiently } from './patience.ts';
import type { Exchange } from './transport.ts';

/** Reads the first page of a listing for the number of entries that it states. */
export async function readCount(
  tools: Patience & { read: () => Promise<Exchange>; judge: Judge; shape: ListShape<unknown> },
): Promise<Count> {
  const result = await patiently<number | null>(tools, async () => {
    const exchange = await tools.read();
    if (exchange.kind !== 'answer' || exchange.cut !== null || meaningOf(exchange.status) !== 'done') {
      return { ok: false, outcome: tools.judge.outcomeOf(exchange, NOTHING_EXPECTED) };
    }
    const page = readListPage(exchange.body, exchange.headers, tools.shape);
    if (page !== null) return { ok: true, value: page.count };
    return {
      ok: false,
      outcome: foreignAnswer(exchange.status, 'The answer to the question for a list is none.'),
      final: true,
    };
  });
  return result.ok ? { ok: true, count: result.value } : { ok: false, outcome: result.outcome };
}
