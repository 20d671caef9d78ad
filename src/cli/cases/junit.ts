// The results of cases as JUnit XML, which CI servers show.

import { withHiddenShown } from '../../lib/text/safe-text.ts';
import type { TestedCase } from '../../operations/test-document.ts';
import { differenceLines, hasFailed } from './case-lines.ts';

export function junitXml(results: readonly TestedCase[]): string {
  const suites = [...Map.groupBy(results, ({ file }) => file)].map(
    ([file, ofFile]) => `  <testsuite${attributes({ name: file, ...countsOf(ofFile) })}>
${ofFile.map(caseXml).join('')}  </testsuite>
`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites${attributes({ name: 'dpp-sync test', ...countsOf(results) })}>
${suites.join('')}</testsuites>
`;
}

function countsOf(results: readonly TestedCase[]) {
  return { tests: results.length, failures: results.filter(hasFailed).length, errors: 0, skipped: 0 };
}

function caseXml(result: TestedCase): string {
  const { file, line, name, source, stream } = result;
  const start = `    <testcase${attributes({ name, classname: `${source}/${stream}`, file, line })}`;
  if (!hasFailed(result)) return `${start}/>\n`;
  const lines = differenceLines(result);
  const message = lines.slice(0, 3).join(', ').replaceAll(/ {2,}/g, ' ');
  return `${start}>
      <failure${attributes({ message, type: 'difference' })}>${lines.map(escaped).join('\n')}</failure>
    </testcase>
`;
}

function attributes(values: Record<string, string | number | null>): string {
  return Object.entries(values)
    .map(([name, value]) => (value === null ? '' : ` ${name}="${escaped(String(value))}"`))
    .join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** XML cannot have control characters, not even as references, so these are shown as `\u0001`. */
function escaped(text: string): string {
  return withHiddenShown(text).replaceAll(/[&<>"'\t\n\r]/g, (character) => ENTITIES[character] ?? character);
}
