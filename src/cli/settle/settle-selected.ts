import {
  type SettleSelectedRequest,
  type SettleSelectedResult,
  settleSelected,
} from '../../admin/handlers/settle-selected.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { stateWord } from '../../domain/words.ts';
import { confirmed } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { releasedLines } from '../source/released.ts';
import { plural } from '../text/style.ts';
import { countKind } from '../text/words.ts';

type Selection = Omit<SettleSelectedRequest, 'dryRun'>;

/** Settles all items in a state, after a person has confirmed their number. */
export async function settleAll(
  selection: Selection,
  { yes, context, config }: { yes: boolean; context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  const abort = context.interruption();
  return context.withAdmin(config, 'settle', async (admin) => {
    if (!yes) {
      const { selected } = await admin.run(settleSelected, { ...selection, dryRun: true });
      if (selected > 0) await ask(selected, selection, abort);
    }
    const { settled, left, released } = await admin.run(settleSelected, { ...selection, dryRun: false });
    if (output.json) output.document({ ok: left === 0, settled, left, released });
    output.print(...linesOf({ settled, left }), ...releasedLines(released, admin));
    return left === 0 ? 0 : 4;
  });
}

async function ask(count: number, { state, kind, resolution }: Selection, abort: AbortSignal): Promise<void> {
  const what = kind === null ? plural(count, 'item') : countKind(count, kind);
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them'];
  await confirmed(`${what} ${are} ${stateWord(state)}. Settle ${them} as ${resolution}?`, {
    signal: abort,
    unattended: `Nothing was settled: this command has no terminal at which a person can confirm ${what}.`,
    declined: 'Nothing was settled.',
  });
}

function linesOf({ settled, left }: Pick<SettleSelectedResult, 'settled' | 'left'>): string[] {
  const lines = [settled === 0 ? 'Nothing was settled.' : `Noted for ${plural(settled, 'item')}.`];
  if (left > 0) {
    const are = left === 1 ? 'item is' : 'items are';
    lines.push(
      `${left} ${are} left: new products and materials need their ids (dpp-sync settle KEY --delivered); passports and writes that may have arrived cannot be ignored.`,
    );
  }
  return lines;
}
