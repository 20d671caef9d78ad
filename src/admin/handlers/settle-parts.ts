import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import type { PartsAnswer } from '../../domain/ports/first-contact.ts';
import { goOn } from '../go-on.ts';
import type { Handler } from '../handler.ts';

const SettlePartsRequest = z.strictObject({
  /** Keys or SKUs of products; null for all products that wait for an answer. */
  products: z.array(z.string()).min(1).nullable(),
  present: z.boolean(),
});
export type SettlePartsRequest = z.infer<typeof SettlePartsRequest>;

/**
 * Stores a person's answer whether BOM items of adopted products are at the platform.
 *
 * @throws Fault `usage` if no named product waits for an answer
 */
export const settleParts: Handler<SettlePartsRequest, PartsAnswer> = {
  name: 'settle-parts',
  request: SettlePartsRequest,
  async handle(request, { runtime }) {
    const answer = await runtime.ledger.answerParts(request);
    const [first] = answer.unknown;
    if (first !== undefined && answer.products === 0) {
      throw fault('usage', `No BOM items of "${first}" wait for an answer.`, {
        suggestion: '`dpp-sync items --state blocked --kind bom_item` lists the BOM items that wait for an answer.',
      });
    }
    goOn(runtime);
    return answer;
  },
};
