// Counts what a plan would do, for the sources to which it counts, and compares it with their bounds.

import { type EffectCounts, type Excess, effectOf, excessesOf, noEffects } from '../../domain/approval.ts';
import type { PlannedItem } from '../../domain/plan.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { plan } from './plan.ts';
import { createRecording } from './recording.ts';
import type { RehearsalTools } from './rehearsal.ts';

export type PlanTools = Omit<RehearsalTools, 'onRead' | 'mappers'>;
type CountReads = Pick<Reads, 'itemCounts' | 'passportCounts'>;

/** What is planned, by the source that owns the item. */
export type Effects = Record<string, EffectCounts>;

/** @param source to which an item counts that no source owns */
export function addEffect(effects: Effects, item: PlannedItem, source: string): void {
  const effect = effectOf(item);
  if (effect === null) return;
  const counts = (effects[item.source ?? source] ??= noEffects());
  counts[effect] += 1;
}

/** The bounds that these effects exceed. */
export async function excessesIn(
  { sources }: Pick<RuntimeConfig, 'sources'>,
  effects: Effects,
  reads: CountReads,
): Promise<Excess[]> {
  const found: Excess[] = [];
  for (const { id, approve } of sources) {
    const ofSource = effects[id];
    if (ofSource === undefined || approve === null) continue;
    const items = sumOf(Object.values(await reads.itemCounts([id])).flatMap((states) => Object.values(states)));
    const products = sumOf(Object.values(await reads.passportCounts({ source: id })));
    found.push(...excessesOf(id, ofSource, approve, { items, products }));
  }
  return found;
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0);

/** What another config would change in the stored rows. */
export interface ConfigEffects {
  effects: Effects;
  /** How many public passports would show other data. */
  publicPassports: number;
  excesses: Excess[];
}

/**
 * Tries another config on a copy of the ledger.
 *
 * @throws Fault if the ledger cannot be copied, or `interrupted`
 */
export async function effectsOfConfig(
  config: RuntimeConfig,
  { tools, reads }: { tools: PlanTools; reads: CountReads },
  abort: AbortSignal,
): Promise<ConfigEffects> {
  const effects: Effects = {};
  let publicPassports = 0;
  const recording = await createRecording(null);
  const onItems = async (items: readonly PlannedItem[]): Promise<void> => {
    for (const item of items) {
      addEffect(effects, item, '');
      if (item.action === 'differs') publicPassports += 1;
    }
  };
  try {
    const onRead = (): void => undefined;
    await plan({ of: 'config', config, sources: [] }, { ...tools, onRead, onItems, recording }, abort);
    return { effects, publicPassports, excesses: await excessesIn(config, effects, reads) };
  } finally {
    await recording.close();
  }
}
