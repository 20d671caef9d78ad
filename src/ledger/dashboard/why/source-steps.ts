import { guardSteps } from '../../../domain/guard-advice.ts';
import type { PassportRules } from '../../../domain/passport.ts';
import { GUARD_OF_SOURCE, type OpenGuard } from '../../records/guarded-reads.ts';
import { HAS_UNMAPPED } from '../../records/pending-records.ts';
import type { Sqlite } from '../../store/database.ts';
import { type Step, step, utc } from './step.ts';

interface RunRow {
  result: string | null;
  startedAt: number;
  endedAt: number | null;
  error: string | null;
}

export interface SourceSteps {
  /** The step for the last read of a source. `own` is true for the source of the product. */
  of(source: string, own: boolean): Step;
  /** The steps for the other sources that the passport of each product waits for. */
  others(own: string | null): Step[];
}

/** At most this many other sources with a problem are shown. */
const SHOWN_MAX = 5;

export function createSourceSteps(db: Sqlite, rules: PassportRules): SourceSteps {
  const sql = {
    lastRun: db.prepare<[string], RunRow>(
      // An upload of corrected rows does not read the source.
      `SELECT result, started_at AS startedAt, ended_at AS endedAt, error FROM runs WHERE source = ? AND cause <> 'upload'
       ORDER BY id DESC LIMIT 1`,
    ),
    guarded: db.prepare<[string], OpenGuard>(GUARD_OF_SOURCE),
    unmapped: db.prepare<[string], { found: number }>(
      `SELECT 1 AS found FROM streams s WHERE s.source = ? AND ${HAS_UNMAPPED} LIMIT 1`,
    ),
  };

  function of(source: string, own: boolean): Step {
    const gives = rules.partSources.includes(source);
    // A passport only waits for the sources of parts. The last read of any other source is shown for information.
    const held = gives ? 'stop' : 'unknown';
    const which = own ? 'its source' : 'the source';
    const name = gives && !own ? `${which} ${source}, which gives parts,` : `${which} ${source}`;
    const sync = `dpp-sync sync ${source}`;
    if (!rules.sources.includes(source)) {
      return step('unknown', `${name} is not in the config any more`, {
        cure: 'No run reads it, so its rows stay as they are.',
      });
    }
    const run = sql.lastRun.get(source);
    if (run === undefined) return step(held, `${name} has never been read`, { cure: 'Read it.', command: sync });
    if (run.result === null) return step(gives ? 'waits' : 'ok', `${name} is being read, since ${utc(run.startedAt)}`);
    const at = utc(run.endedAt ?? run.startedAt);
    if (run.result === 'failed') {
      const cure = 'Correct the cause that the message names, and read the source again.';
      return step(held, `the last read of ${name} failed at ${at}: ${run.error ?? 'no message was kept'}`, {
        cure,
        command: sync,
      });
    }
    if (run.result !== 'complete') {
      const cure = 'Read the source again.';
      return step(held, `the last read of ${name} was interrupted at ${at}`, { cure, command: sync });
    }
    const guard = sql.guarded.get(source);
    if (guard !== undefined) return guardStep(name, source, held, guard);
    if (gives && sql.unmapped.get(source) !== undefined) {
      return step('waits', `not all rows of ${name.replace(/,$/, '')} are mapped yet`);
    }
    return step('ok', `${name} was read completely at ${at}`);
  }

  return {
    of,
    others(own) {
      const steps = rules.partSources.filter((source) => source !== own).map((source) => of(source, false));
      const wrong = steps.filter(({ standing }) => standing !== 'ok');
      return wrong.slice(0, SHOWN_MAX);
    },
  };
}

function guardStep(
  name: string,
  source: string,
  held: Step['standing'],
  { message, acceptedAt, isLeft, isOlder }: OpenGuard,
): Step {
  if (acceptedAt !== null) {
    const cure = `A person has accepted this read at ${utc(acceptedAt)}. The next read of the source uses that decision.`;
    return step(held, `the last read of ${name} looked broken: ${message}`, {
      cure,
      command: `dpp-sync sync ${source}`,
      isGuard: true,
    });
  }
  const [first, ...others] = guardSteps({ source, isLeft: isLeft === 1, isOlder: isOlder === 1 });
  const cure = others.map(({ text, command }) => `${text}: \`${command}\`.`).join(' ');
  return step(held, `the guard holds the last read of ${name}: ${message}`, {
    cure: `${first?.text}. ${cure}`,
    command: first?.command ?? null,
    isGuard: true,
  });
}
