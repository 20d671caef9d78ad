import { expect, it, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import LeftOutReporter from '../../support/runner/left-out-reporter.ts';

it('a suite that is left out without a browser is listed with what it needs and how to install it', async () => {
  vi.stubEnv('DPP_SYNC_TEST_CHROMIUM', '/nowhere/chromium');
  vi.stubEnv('DPP_SYNC_TEST_REQUIRE_BROWSER', '');
  vi.resetModules();
  const { browserNote, runsBrowser } = await import('../../support/browser/chromium.ts');
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const test = { fullName: `the dashboard${browserNote} > shows a page` };
    const module = { children: { allTests: () => [test] } } as unknown as TestModule;
    new LeftOutReporter().onTestRunEnd([module]);
    expect(runsBrowser).toBe(false);
    expect(written.mock.calls.join('')).toContain(
      '1 test: needs /nowhere/chromium: install it with `apt-get install chromium`;',
    );
  } finally {
    written.mockRestore();
    vi.unstubAllEnvs();
    vi.resetModules();
  }
});
