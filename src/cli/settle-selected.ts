import type { RuntimeConfig } from '../daemon/open-source.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { kindToBind, personsVerdict } from '../delivery/persons-word.ts';
import { fault } from '../domain/faults.ts';
import type { SubjectKind } from '../domain/item.ts';
import { mayBeSettled, type Resolution, type SettleState } from '../domain/manual.ts';
import type { NamedDelivery, NamedSelection } from '../domain/ports/doubt.ts';
import { stateWord } from '../domain/words.ts';
import { confirmed } from './confirm.ts';
import type { CommandContext } from './context.ts';
import { plural } from './style.ts';
import { countKind } from './words.ts';

interface Selection {
  state: SettleState | 'missing';
  kind: SubjectKind | null;
  source: string | null;
}

interface Settled {
  settled: number;
  /** Those of which this cannot be said, or not without an id. */
  left: number;
  released: number;
}

const PAGE = 500;

/** Settles all that is in a state, once a person has confirmed how many those are. */
export async function settleSelected(
  selection: Selection,
  { said, yes }: { said: Resolution; yes: boolean },
  { context, config }: { context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  const { state, kind, source } = selection;
  if (state === 'missing' && said !== 'ignored') {
    throw fault('usage', '--state missing goes with --ignore alone: it accepts that the items are gone.');
  }
  const abort = context.interruption();
  const runtime = await context.openRuntime(config, 'settle');
  try {
    const { ledger } = runtime;
    const missing = { name: null, kind, source };
    const count =
      state === 'missing'
        ? await ledger.acceptMissing({ ...missing, dryRun: true })
        : await ledger.countSelected({ state, kind, source });
    if (count > 0 && !yes) await ask({ count, ...selection }, said, abort);
    const done =
      state === 'missing'
        ? { settled: await ledger.acceptMissing(missing), left: 0, released: 0 }
        : await settleAll({ state, kind, source }, said, runtime, abort);
    if (output.json) output.document({ ok: done.left === 0, ...done });
    output.print(...linesOf(done));
    return done.left === 0 ? 0 : 4;
  } finally {
    await runtime.close();
  }
}

async function ask({ count, state, kind }: Selection & { count: number }, said: Resolution, abort: AbortSignal) {
  const what = kind === null ? plural(count, 'item') : countKind(count, kind);
  await confirmed(`Settle ${what} that ${count === 1 ? 'is' : 'are'} ${stateWord(state)} as ${said}?`, {
    signal: abort,
    unattended: `There is nobody to ask whether ${what} ${count === 1 ? 'is' : 'are'} to be settled.`,
    declined: 'Nothing was settled.',
  });
}

async function settleAll(
  selection: NamedSelection,
  said: Resolution,
  { ledger }: Pick<Runtime, 'ledger'>,
  abort: AbortSignal,
): Promise<Settled> {
  const done: Settled = { settled: 0, left: 0, released: 0 };
  for (let afterId = 0; !abort.aborted; ) {
    const page = await ledger.selectedDeliveries({ ...selection, afterId, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return done;
    afterId = last.id;
    const able = page.filter((delivery) => mayBeSettled(delivery, said) && !needsId(delivery, said));
    done.left += page.length - able.length;
    const word = said === 'delivered' ? { said, remoteId: null } : { said };
    const settled = await Promise.all(
      able.map((delivery) =>
        ledger.settle({ deliveryId: delivery.id, verdict: personsVerdict(delivery, word), manual: true }),
      ),
    );
    done.settled += settled.length;
    done.released += settled.reduce((sum, { released }) => sum + released, 0);
  }
  throw fault('interrupted', `Stopped after ${plural(done.settled, 'item')}.`, {
    suggestion: 'Run it again for the rest.',
  });
}

/** Others refer to it by its id, which has to be looked up for each. */
function needsId({ operation }: NamedDelivery, said: Resolution): boolean {
  return said === 'delivered' && kindToBind(operation) !== null;
}

function linesOf({ settled, left, released }: Settled): string[] {
  const lines = [settled === 0 ? 'Nothing was settled.' : `Noted of ${plural(settled, 'item')}.`];
  if (left > 0) {
    const are = left === 1 ? 'item is' : 'items are';
    lines.push(
      `${left} ${are} left: new products and materials need their ids (dpp-sync settle KEY --delivered), and what may have arrived, or is a passport, cannot be ignored.`,
    );
  }
  if (released > 0) {
    lines.push(`${plural(released, 'delivery that waited is', 'deliveries that waited are')} due: dpp-sync sync`);
  }
  return lines;
}
