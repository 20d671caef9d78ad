import { spawnSync } from 'node:child_process';
import { describeWhere } from '../../support/runner/describe-where.ts';

const isThere = spawnSync('promtool', ['--version']).status === 0;

/** Like `describe`, for tests that run promtool. */
export const describePromtool = describeWhere({
  isThere,
  what: 'promtool: install it with `apt-get install prometheus`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_PROMTOOL',
});

/** Runs promtool. Returns its exit code and its output. */
export function promtool(args: readonly string[], options: { cwd?: string; input?: string } = {}) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { ...options, encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
}
