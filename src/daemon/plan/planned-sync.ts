import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';
import type { Mapper } from '../../domain/mapping.ts';
import { PLANNED_WRITES, type PlannedItem } from '../../domain/plan.ts';
import { kindWord } from '../../domain/words/states.ts';
import { closeInOrder, type Fault } from '../../lib/errors.ts';
import { makeTemporaryFolder } from '../../lib/files.ts';
import { formatCount } from '../../lib/text/amounts.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { PlannedRun } from '../sources/pulls.ts';
import { changesOf, lookupDigests } from './basis.ts';
import { plan } from './plan.ts';
import { digestOf, type PlanBasis, readPlanFile, type StoredPlan } from './plan-file.ts';
import { createRecording } from './recording.ts';
import type { RehearsalTools } from './rehearsal.ts';

/** A plan that fits, with the rows that it was made from. */
export interface PlannedSync {
  /** The sources of the plan. */
  sources: readonly string[];
  /** The run of a source, which reads the rows that the plan is about, and no others. */
  run(source: string): PlannedRun;
  close(): Promise<void>;
}

/**
 * Prepares to apply exactly the plan of a file: the sync is planned again, its rows are kept, and the result has to be the same.
 *
 * @throws Fault `plan.stale`, which names all that has changed, or `usage` if the file is no plan of a sync
 */
export async function preparePlanned(
  file: string,
  {
    config,
    tools,
    holdRuns,
  }: {
    config: RuntimeConfig;
    tools: Omit<RehearsalTools, 'onRead'>;
    /** Lets no run of these sources begin, so that the rows and the ledger stay those of the plan. */
    holdRuns: (sources: readonly string[]) => Promise<ReadonlyMap<string, () => void>>;
  },
  abort: AbortSignal,
): Promise<PlannedSync> {
  /** The writes of the file that the plan has not made again. */
  const planned = new Set<bigint>();
  const former = await readPlanFile(file, (item) => {
    if (PLANNED_WRITES.includes(item.action)) planned.add(digestOf(item));
  });
  if (former.of === 'config') {
    throw fault(
      'usage',
      `${file} shows what a config changes in stored rows (\`--stored\`), so it cannot be applied.`,
      {
        suggestion: 'Make a plan without `--stored`.',
      },
    );
  }
  assertKnownSources(file, former, config);
  const held = await holdRuns(former.sources);
  const closing = [async () => held.forEach((release) => release())];
  const close = (): Promise<void> => closeInOrder(closing);
  try {
    const folder = await makeTemporaryFolder(existsSync(config.ledger) ? dirname(config.ledger) : tmpdir(), 'plan');
    closing.unshift(() => rm(folder, { recursive: true, force: true }));
    const recording = await createRecording(folder);
    closing.unshift(() => recording.close());
    const unplanned: PlannedItem[] = [];
    const request = { of: 'sync', config, sources: former.sources } as const;
    const onItems = async (items: readonly PlannedItem[]): Promise<void> => {
      const others = items.filter((item) => PLANNED_WRITES.includes(item.action) && !planned.delete(digestOf(item)));
      if (unplanned.length === 0) unplanned.push(...others.slice(0, 1));
    };
    const summary = await plan(request, { ...tools, onRead: () => undefined, onItems, recording }, abort);
    const { count, digest } = summary.writes;
    const isSame = count === former.writes.count && digest === former.writes.digest;
    const changed = changesOf(former.basis, summary.basis);
    if (!isSame && changed.length === 0) changed.push(await ledgerChange(file, unplanned[0], planned));
    if (changed.length > 0) throw staleFault(file, changed);
    const [failed] = summary.failed;
    if (failed !== undefined) throw staleFault(file, [`the run of ${failed.source} would fail: ${failed.error}`]);
    const run = (source: string): PlannedRun => ({
      reader(mapper) {
        assertMapping(file, { source, mapper, basis: former.basis });
        return recording.replay(source);
      },
      release: () => held.get(source)?.(),
    });
    return { sources: former.sources, run, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The mapping and its lookup files may have been written since the plan was made again. */
function assertMapping(
  file: string,
  { source, mapper, basis }: { source: string; mapper: Mapper; basis: PlanBasis },
): void {
  const tables = Object.entries(lookupDigests(source, mapper.lookups ?? []));
  const changed = [
    ...(mapper.revision === basis.mappings[source] ? [] : [`the mapping of ${source} has changed`]),
    ...tables
      .filter(([name, digest]) => basis.lookups[name] !== digest)
      .map(([name]) => `the lookup table ${name} has changed`),
  ];
  if (changed.length > 0) throw staleFault(file, changed, `nothing of ${source} was sent`);
}

function assertKnownSources(file: string, { sources }: StoredPlan, config: RuntimeConfig): void {
  const gone = sources.find((source) => config.sources.every(({ id }) => id !== source));
  if (gone !== undefined) throw staleFault(file, [`the config has no source ${gone} any more`]);
}

function staleFault(file: string, changed: readonly string[], effect = 'nothing was sent'): Fault {
  return fault(
    'plan.stale',
    `The plan ${file} does not fit any more, and ${effect}: ${changed.join('; ').replace(/\.$/, '')}.`,
  );
}

/**
 * What is not as it was in the ledger.
 *
 * @param unplanned a write that is not in the file
 * @param left the writes of the file that are not needed any more
 */
async function ledgerChange(
  file: string,
  unplanned: PlannedItem | undefined,
  left: ReadonlySet<bigint>,
): Promise<string> {
  if (unplanned !== undefined) return `the revision or the content of ${wordsFor(unplanned)} has changed`;
  const needless: PlannedItem[] = [];
  await readPlanFile(file, (item) => {
    if (needless.length === 0 && left.has(digestOf(item))) needless.push(item);
  });
  const [first] = needless;
  const others = left.size > 1 ? ` and ${formatCount(left.size - 1)} more` : '';
  return `nothing is left to send for ${first === undefined ? 'an item' : wordsFor(first)}${others}`;
}

const wordsFor = ({ kind, key, naturalKey }: PlannedItem): string => `${kindWord(kind)} ${naturalKey ?? key}`;
