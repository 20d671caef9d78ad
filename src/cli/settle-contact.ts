// What a person says of things that were at the platform before this ledger knew of them.

import type { Runtime } from '../daemon/runtime.ts';
import { fault } from '../domain/faults.ts';
import type { ListableKind } from '../domain/ports/target.ts';
import { kindWord, stateWord } from '../domain/words.ts';
import type { CommandContext } from './context.ts';
import { inOwnType } from './remote-id.ts';
import { plural, printable } from './style.ts';
import { countKind, formatValue } from './words.ts';

/**
 * Binds an item of which the platform has several to the one that a person names. Gives whether there is such an item.
 *
 * @throws Fault `usage` where the id belongs to another item
 */
export async function settleAmbiguous(
  name: string,
  { kinds, id }: { kinds: readonly ListableKind[]; id: string },
  { ledger, views }: Pick<Runtime, 'ledger' | 'views'>,
  output: CommandContext['output'],
): Promise<boolean> {
  for (const kind of kinds) {
    if (views.item(kind, name)?.reason?.code !== 'ambiguous_key') continue;
    const remoteId = inOwnType(id, kind, views);
    const other = await ledger.boundTo(kind, remoteId);
    if (other !== null) {
      throw fault('usage', `The id ${formatValue(remoteId)} is that of the ${kindWord(kind)} "${other}" already.`);
    }
    const adopted = await ledger.adoptAs({ name, kind, remoteId });
    if (adopted === null) continue;
    const item = views.item(kind, adopted.key);
    const state = item?.state ?? 'delivered';
    if (output.json) output.document({ ok: true, kind, key: adopted.key, state, remoteId: item?.remoteId ?? null });
    output.print(`Noted. The ${kindWord(kind)} ${printable(adopted.key)} is ${stateWord(state)} now.`);
    return true;
  }
  return false;
}

/**
 * Takes an answer to the question whether BOM items of adopted products are at the platform.
 *
 * @param products keys or SKUs; null for all
 * @throws Fault `usage` where a product waits for no answer
 */
export async function settleParts(
  products: readonly string[] | null,
  present: boolean,
  { ledger }: Pick<Runtime, 'ledger'>,
  output: CommandContext['output'],
): Promise<void> {
  const answer = await ledger.answerParts({ products, present });
  const [first] = answer.unknown;
  if (first !== undefined && answer.products === 0) {
    throw fault('usage', `No BOM items of "${first}" wait for an answer.`, {
      suggestion: '`dpp-sync items --state blocked --kind bom_item` lists those that do.',
    });
  }
  if (output.json) output.document({ ok: true, ...answer });
  const became = present ? 'count as delivered' : 'are created with the next sync';
  output.print(
    `Noted for ${plural(answer.products, 'product', 'products')}: ${countKind(answer.bomItems, 'bom_item')} ${became}.`,
  );
  for (const name of answer.unknown) output.print(`No BOM items of ${printable(name)} wait for an answer.`);
}
