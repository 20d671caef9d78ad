import { guardAdvice } from '../../domain/advice.ts';
import type { HeldStream } from '../../domain/ports/guarded-intake.ts';
import type { StreamAccount } from '../../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Queues } from '../../domain/ports/queues.ts';
import { Fault, messageAndCureOf, messageOf } from '../../lib/errors.ts';
import { type Logger, withLogFields } from '../../lib/logging/logging.ts';
import type { Runtime } from '../runtime.ts';

/**
 * A pull that a daemon logs and counts, for a schedule or for a person. After it, the failed jobs of earlier runs of the source are
 * forgotten.
 */
export function announced(
  runtime: Pick<Runtime, 'pull' | 'pulling'>,
  options: {
    queues: Queues;
    emit: Emit;
    reads: Pick<Reads, 'run' | 'quarantinedCount' | 'unmappedSources'>;
    log: Logger;
    scrub: (text: string) => string;
  },
): Runtime['pull'] {
  const { queues, emit, reads, log, scrub } = options;

  async function tidy(source: string): Promise<void> {
    try {
      const failed = await queues.failed('pull');
      const outdated = failed.filter(({ data }) => data['source'] === source).map(({ id }) => id);
      if (outdated.length > 0) await queues.forget('pull', outdated);
    } catch (error) {
      log.warn(
        { source, error: messageOf(error) },
        `Cleaning up after the run of ${source} failed: ${messageOf(error)}`,
      );
    }
  }

  return (source, ...request) => withLogFields({ source }, () => pullLogged(source, ...request));

  async function pullLogged(
    ...[source, cause, abort, ...rest]: Parameters<Runtime['pull']>
  ): ReturnType<Runtime['pull']> {
    const isBusy = runtime.pulling().includes(source);
    const begins = isBusy ? 'is pulled again when its current run has ended' : 'is being pulled';
    log.info({ source, ...cause }, `The source ${source} ${begins}.`);
    try {
      const pulled = await runtime.pull(source, cause, abort, ...rest);
      await logEnded(source, pulled);
      return pulled;
    } catch (error) {
      if (abort.aborted) throw error;
      emit({ type: 'run_ended', source, result: 'failed' });
      const unexpected = error instanceof Fault ? {} : { err: error };
      log.error(
        { source, ...unexpected },
        `The source ${source} could not be pulled: ${scrub(messageAndCureOf(error))}`,
      );
      throw error;
    } finally {
      await tidy(source);
    }
  }

  /** Says how a run has ended. Never rejects: the run is stored, whatever the log can say about it. */
  async function logEnded(
    source: string,
    { runId, result, guarded }: Awaited<ReturnType<Runtime['pull']>>,
  ): Promise<void> {
    emit({ type: 'run_ended', source, result });
    for (const held of guarded) warnOfGuard(log, { source, run: runId, ...held });
    try {
      if (result === 'held') {
        const error = (await reads.run(runId))?.error ?? '';
        log.warn(
          { source, run: runId, result },
          `The run of ${source} is held. ${error} See what to do: dpp-sync status`,
        );
        return;
      }
      const { counts, text } = accountOf((await reads.run(runId))?.streams ?? []);
      // A changed row can put an unchanged row into quarantine, which the run counts as unchanged. The unchanged row is mapped
      // after the run. This is asked before the count, so a count without the last sentence is final.
      const waits = (await reads.unmappedSources()).includes(source)
        ? ` Some rows of ${source} are not mapped yet.`
        : '';
      const inQuarantine = await reads.quarantinedCount([source]);
      const [rows, have] = inQuarantine === 1 ? ['row', 'has'] : ['rows', 'have'];
      log.info(
        { source, run: runId, result, ...counts, inQuarantine },
        `The run of ${source} is ${result}: ${text}. ${inQuarantine} ${rows} of ${source} ${have} an error now.${waits}`,
      );
    } catch (error) {
      log.warn(
        { source, run: runId, error: messageOf(error) },
        `The run of ${source} is ${result}, but its counts could not be read: ${messageOf(error)}`,
      );
    }
  }
}

/** The counts of the rows of a run by their results, as numbers and in words. */
function accountOf(streams: readonly StreamAccount[]) {
  const sum = (count: 'read' | 'unchanged' | 'changed' | 'excluded' | 'quarantined' | 'missing') =>
    streams.reduce((total, account) => total + account[count], 0);
  const counts = {
    read: sum('read'),
    unchanged: sum('unchanged'),
    changed: sum('changed'),
    excluded: sum('excluded'),
    quarantined: sum('quarantined'),
    missing: sum('missing'),
  };
  const { read, unchanged, changed, excluded, quarantined, missing } = counts;
  // Rows of streams without keys are mapped after the run, so they have no other count yet.
  const toMap = read - unchanged - changed - excluded - quarantined;
  const parts = [
    `${unchanged} unchanged`,
    `${changed} changed`,
    ...(toMap > 0 ? [`${toMap} to be mapped`] : []),
    ...(excluded > 0 ? [`${excluded} excluded`] : []),
    `${quarantined} with an error`,
    ...(missing > 0 ? [`${missing} missing`] : []),
  ];
  return { counts, text: `${read} ${read === 1 ? 'row' : 'rows'} read, ${parts.join(', ')}` };
}

/** Logs that the guard holds a stream, and what to do. */
export function warnOfGuard(
  log: Logger,
  { message, isLeft = false, isOlder = false, ...fields }: HeldStream & { run?: number },
): void {
  const { source, stream } = fields;
  log.warn(fields, `The guard holds ${source}/${stream}: ${message} ${guardAdvice({ source, isLeft, isOlder })}`);
}
