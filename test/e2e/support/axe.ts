import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const require = createRequire(import.meta.url);
const SOURCE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  impact: string | null;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

/**
 * The problems of serious and critical impact that axe finds on a page, each with its element. They make the page
 * unusable for some people.
 */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(SOURCE);
  const violations: Violation[] = await page.evaluate('axe.run(document).then((result) => result.violations)');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}
