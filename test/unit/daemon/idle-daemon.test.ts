import { describe, expect, it } from 'vitest';
import { warnIfIdle } from '../../../src/daemon/schedules/due-runs.ts';
import type { RuntimeConfig } from '../../../src/daemon/sources/open-source.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

type Idle = Pick<RuntimeConfig, 'sources' | 'web'>;
const SOURCE = { schedule: null, watch: false };

function warnings(config: object): string[] {
  const log = createRecordingLog();
  warnIfIdle(config as Idle, log);
  return log.lines.map(({ level, message }) => `${level}: ${message}`);
}

describe('a daemon', () => {
  it('a daemon warns where no run begins by itself and nobody can start one in a dashboard', () => {
    expect(warnings({ sources: [SOURCE], web: null })).toEqual([
      expect.stringMatching(/^warn: No source has a `schedule`.*`dpp-sync sync` starts a run in this daemon\.$/),
    ]);
  });

  it('a daemon does not warn with a schedule, a watched source or a dashboard', () => {
    expect(warnings({ sources: [SOURCE, { ...SOURCE, schedule: '0 2 * * *' }], web: null })).toEqual([]);
    expect(warnings({ sources: [{ ...SOURCE, watch: true }], web: null })).toEqual([]);
    expect(warnings({ sources: [SOURCE], web: {} })).toEqual([]);
  });
});
