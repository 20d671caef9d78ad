import { z } from 'zod';
import { kindToBind, manualSettlement } from '../delivery/outcome/decide.ts';
import { mayBeSettled, RESOLUTIONS, type Resolution, SETTLE_STATES } from '../domain/delivery/delivery.ts';
import { fault } from '../domain/faults.ts';
import { SUBJECT_KINDS } from '../domain/item.ts';
import type { NamedDelivery, NamedSelection } from '../domain/ports/deliveries.ts';
import type { PartsAnswer } from '../domain/ports/ledger/contact-ledger.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import { worked } from './documents.ts';
import type { Operation } from './operation.ts';
import { releasedSentences, type Sentence, sentencesOf, settledText } from './results.ts';
import { goOn } from './runs.ts';
import type { OperationContext } from './runtime.ts';

const SettleSelectedRequest = z
  .strictObject({
    state: z.enum([...SETTLE_STATES, 'missing']),
    kind: z.enum(SUBJECT_KINDS).nullable(),
    source: z.string().nullable(),
    resolution: z.enum(RESOLUTIONS),
    /** True to count without settling. */
    dryRun: z.boolean(),
  })
  .refine(
    ({ state, resolution }) => state !== 'missing' || resolution === 'ignored',
    'A missing item can only be ignored.',
  );
export type SettleSelectedRequest = z.infer<typeof SettleSelectedRequest>;

export interface SettleSelectedResult {
  /** How many items the selection had. An item that changed before it was settled is in none of the other counts. */
  selected: number;
  settled: number;
  /** Items that cannot be settled with this resolution, or that need an id. */
  left: number;
  /** Deliveries that became due. */
  released: number;
}

const PAGE = 500;

/**
 * Settles all items in a state.
 *
 * @throws Fault `interrupted` if the process was stopped meanwhile, or `daemon.stopped` if a daemon was stopped
 */
export const settleSelected: Operation<SettleSelectedRequest, SettleSelectedResult> = {
  name: 'settle-selected',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary: 'Settles all deliveries in a state by hand.',
  request: SettleSelectedRequest,
  result: worked(),
  async run({ state, kind, source, resolution, dryRun }, context) {
    const { ledger } = context.runtime;
    const nothing = { settled: 0, left: 0, released: 0 };
    if (state !== 'missing') {
      const selection = { state, kind, source };
      if (dryRun) return { selected: await ledger.countSelected(selection), ...nothing };
      return settleAll(selection, resolution, context);
    }
    const selected = await ledger.acceptMissing({ name: null, kind, source, dryRun });
    return { selected, ...nothing, settled: dryRun ? 0 : selected };
  },
  document: ({ settled, left, released }) => ({ settled, left, released }),
  exitCode: ({ left }) => (left === 0 ? 0 : 4),
};

async function settleAll(
  selection: NamedSelection,
  resolution: Resolution,
  { runtime, abort, goesOn }: OperationContext,
): Promise<SettleSelectedResult> {
  const { ledger } = runtime;
  const done: SettleSelectedResult = { selected: 0, settled: 0, left: 0, released: 0 };
  for (let afterId = 0; !abort.aborted; ) {
    const page = await ledger.selectedDeliveries({ ...selection, afterId, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return done;
    afterId = last.id;
    const able = page.filter((delivery) => mayBeSettled(delivery, resolution) && !needsId(delivery, resolution));
    const word = resolution === 'delivered' ? { said: resolution, remoteId: null } : { said: resolution };
    const settled = await ledger.settle(able.map((delivery) => manualSettlement(delivery, word)));
    goOn(runtime);
    done.selected += page.length;
    done.left += page.length - able.length;
    done.settled += settled.filter(({ applied }) => applied).length;
    done.released += settled.reduce((sum, { released }) => sum + released, 0);
  }
  // A daemon interrupts its operations when it is stopped.
  const code = goesOn ? 'daemon.stopped' : 'interrupted';
  throw fault(code, `The command was stopped after ${done.settled === 1 ? '1 item' : `${done.settled} items`}.`, {
    suggestion: 'Run the command again for the other items.',
  });
}

/** True for a delivery that gives an item its id at the platform. The id has to be looked up for each item. */
function needsId({ operation }: NamedDelivery, resolution: Resolution): boolean {
  return resolution === 'delivered' && kindToBind(operation) !== null;
}

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
export const settleParts: Operation<SettlePartsRequest, PartsAnswer> = {
  name: 'settle-parts',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary: 'Records whether the BOM items of adopted products are at the platform.',
  request: SettlePartsRequest,
  result: worked(),
  async run(request, { runtime }) {
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
  exitCode: () => 0,
};

/** What came of settling all items in a state. */
export function selectedSentences(
  { selected, settled, left, released }: SettleSelectedResult,
  goesOn: boolean,
): Sentence[] {
  const are = left === 1 ? 'item is' : 'items are';
  return sentencesOf(
    { text: settledText(settled, selected), tone: 'result' },
    left > 0 && {
      text: `${formatCount(left)} ${are} left: new products and materials need their ids (\`dpp-sync settle --delivered KEY\`); passports and writes that may have arrived cannot be ignored.`,
      tone: 'warning',
    },
    ...releasedSentences(released, goesOn),
  );
}

/** What came of an answer about the BOM items of adopted products. */
export function partsSentences({ products, bomItems, unknown }: PartsAnswer): Sentence[] {
  return sentencesOf(
    { text: `${counted(bomItems, 'BOM item')} of ${counted(products, 'product')} settled.`, tone: 'result' },
    ...unknown.map((name) => ({ text: `No BOM items of ${name} wait for an answer.`, tone: 'warning' as const })),
  );
}
