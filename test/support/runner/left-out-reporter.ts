import type { Reporter, TestModule } from 'vitest/node';

/** Lists at the end which tests were left out, and what to install for them. */
export default class LeftOutReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const reasons = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const reason = /\((needs [^)]+)\)/.exec(test.fullName)?.[1] ?? `no reason given: ${test.fullName}`;
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
    }
    if (reasons.size === 0) return;
    const lines = [...reasons].map(([reason, count]) => `  ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`);
    process.stderr.write(`\n Left out:\n${lines.join('\n')}\n\n`);
  }
}
