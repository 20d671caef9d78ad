import { type SettlePartsRequest, settleParts } from '../../admin/handlers/settle-selected.ts';
import type { CommandContext } from '../context.ts';
import { plural, printable } from '../text/style.ts';
import { countKind } from '../text/words.ts';

/** Stores a person's answer whether BOM items of adopted products are at the platform. */
export async function settleBom(request: SettlePartsRequest, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  return context.withAdmin(config, 'settle', async (admin) => {
    const answer = await admin.run(settleParts, request);
    if (output.json) output.document({ ok: true, ...answer });
    const created = admin.daemon ? 'are created by the daemon' : 'are created with the next sync';
    output.print(
      `Noted for ${plural(answer.products, 'product')}: ${countKind(answer.bomItems, 'bom_item')} ${request.present ? 'count as delivered' : created}.`,
    );
    for (const name of answer.unknown) output.print(`No BOM items of ${printable(name)} wait for an answer.`);
    return 0;
  });
}
