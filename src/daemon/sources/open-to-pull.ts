import type { Mapper } from '../../domain/mapping.ts';
import type { RunCause } from '../../domain/ports/intake.ts';
import type { IntakeLedger } from '../../domain/ports/ledger/intake-ledger.ts';
import type { SourceReader } from '../../domain/ports/source.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { noteFailedRun, type PullOptions } from '../../pipeline/pull.ts';
import { untilWritable } from '../../pipeline/until-writable.ts';
import { type ConfiguredSource, openSource, type RuntimeConfig } from './open-source.ts';

interface Opening extends Pick<PullOptions, 'wait'> {
  ledger: PullOptions['ledger'] & Pick<IntakeLedger, 'defineLookups'>;
  config: RuntimeConfig;
  mapperOf: (source: string) => Promise<Mapper>;
  log: Logger;
}

/**
 * Reads the mapping of a source, with its lookup files, and opens the source for a run.
 *
 * @throws the error because of which the source cannot be read, after the ledger has stored a failed run
 */
export async function openToPull(
  { source, ...cause }: { source: ConfiguredSource } & RunCause,
  { config, mapperOf, log, ledger, wait }: Opening,
  abort: AbortSignal,
): Promise<{ mapper: Mapper; records: SourceReader }> {
  try {
    const mapper = await mapperOf(source.id);
    const lookups = new Map([[source.id, mapper.lookups ?? []]]);
    await untilWritable(() => ledger.defineLookups(lookups, { isAll: false }), wait, abort);
    return { mapper, records: await openSource(source, config, log) };
  } catch (error) {
    await noteFailedRun({ source: source.id, ...cause }, error, { ledger, wait }, abort);
    throw error;
  }
}
