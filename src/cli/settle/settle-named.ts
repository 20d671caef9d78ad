import { type SettleRequest, type SettleResult, settle } from '../../admin/handlers/settle.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { kindWord, stateWord } from '../../domain/words.ts';
import type { CommandContext } from '../context.ts';
import { releasedLines } from '../source/released.ts';
import { printable } from '../text/style.ts';

/** Settles the items that the keys name. */
export async function settleNamed(
  request: SettleRequest,
  { context, config }: { context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  return context.withAdmin(config, 'settle', async (admin) => {
    const result = await admin.run(settle, request);
    if (output.json) output.document({ ok: true, ...documentOf(result) });
    output.print(...linesOf(result, admin));
    return 0;
  });
}

function documentOf(result: SettleResult): object {
  if ('bound' in result) return result.bound;
  const { settled, released } = result;
  const [only] = settled;
  if (only !== undefined && settled.length === 1) return { ...only, released };
  return { settled: settled.length, left: 0, released, deliveries: settled };
}

function linesOf(result: SettleResult, where: { daemon: boolean }): string[] {
  const noted = (kind: Parameters<typeof kindWord>[0], key: string, is: string) =>
    `Noted. The ${kindWord(kind)} ${printable(key)} ${is}`;
  if ('bound' in result) {
    const { kind, key, state } = result.bound;
    return [noted(kind, key, `is ${stateWord(state)} now.`)];
  }
  return [
    ...result.settled.map(({ kind, key, operation, state }) =>
      noted(kind, key, operation === null ? 'may be missing from its source.' : `is ${stateWord(state)} now.`),
    ),
    ...releasedLines(result.released, where),
  ];
}
