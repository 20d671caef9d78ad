import type { Command } from 'commander';
import { fault } from '../../domain/faults.ts';
import { withHiddenShown } from '../../lib/text/safe-text.ts';
import { testMappings } from '../../operations/test.ts';
import type { TestedCase } from '../../operations/test-document.ts';
import { answered } from '../answers.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { writeWholeFile } from '../files.ts';
import { printable } from '../text/style.ts';
import { differenceLines, hasFailed, resultLines, summaryLine } from './case-lines.ts';

interface TestOptions {
  junit?: string;
  record?: string;
  source?: string;
  stream?: string;
}

const EXAMPLES = `
Examples:
  $ dpp-sync test                            the cases beside the config, in dpp-sync.cases.yaml
  $ dpp-sync test cases/*.yaml               the cases of these files
  $ dpp-sync test --junit results.xml        for a CI server
  $ dpp-sync test --record A-1               adds a case: the stored row of A-1, and what it becomes now
  $ dpp-sync test --record 4711 --stream products

A case gives a row, and says what the mappings have to make of it:

  cases:
    - name: a pump from Sweden
      given: { stream: products, row: { MATNR: "4711", MAKTX: Pump, HERKL: Sweden } }
      expect:
        items:
          - kind: product
            key: "4711"
            fields: { sku: "4711", name: Pump, country_of_origin: SE }

No source, no platform and no ledger is opened, and no key is needed. Only --record reads the ledger.
The exit code is 1 if a case fails, and 2 if a file is wrong or there is no case. See docs/tests.md.`;

export function addTestCommand(program: Command, run: RunAction): void {
  program
    .command('test')
    .argument('[file...]', 'files with cases; without any, the file beside the config')
    .option('--junit <file>', 'also write the results as JUnit XML')
    .option('--record <key>', 'add a case from the stored row with this key, or of the item with this key, SKU or code')
    .option('--source <id>', 'with --record: the source of the row')
    .option('--stream <name>', 'with --record: the stream of the row')
    .addHelpText('after', EXAMPLES)
    .action((files: string[], options: TestOptions) => run((context) => test(files, options, context)));
}

async function test(files: string[], options: TestOptions, context: CommandContext): Promise<number> {
  assertFitting(files, options);
  const { record, source, stream } = options;
  if (record === undefined) return runAll(files, options, context);
  const { recordCase } = await import('./record.ts');
  return recordCase({ key: record, file: files[0], source, stream }, context);
}

function assertFitting(files: readonly string[], { record, junit, source, stream }: TestOptions): void {
  if (record === undefined) {
    if (source === undefined && stream === undefined) return;
    const option = source === undefined ? '--stream' : '--source';
    throw fault('usage', `${option} is only for --record.`, {
      suggestion: `Leave it out: each case names its own stream.`,
    });
  }
  if (junit !== undefined) {
    throw fault('usage', '--junit is not for --record, which runs no cases.', {
      suggestion: 'Record the case first, then run the cases with --junit.',
    });
  }
  if (files.length > 1) {
    throw fault('usage', '--record writes into one file, and several are named.', { suggestion: 'Name one of them.' });
  }
}

async function runAll(files: string[], { junit }: TestOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig('mappings');
  const { testCases } = await import('../../daemon/cases/test-cases.ts');
  const runtime = {
    testCases: async (named: readonly string[]) => (await testCases(named, { ...context, config })).tested,
  };
  const tested = await testMappings.run({ files }, { runtime, abort: new AbortController().signal });
  const { cases, untested } = tested;
  if (junit !== undefined) await writeWholeFile(junit, 0o666, (handle) => handle.writeFile(junitXml(cases)), '--junit');
  const lines = [...resultLines(cases, output.paint), summaryLine(cases, output.paint)];
  const exitCode = answered(output, { operation: testMappings, result: tested }, lines);
  if (untested.length > 0 && !output.json) {
    const one = untested.length === 1;
    output.note(`No case tests the ${one ? 'mapping' : 'mappings'} of ${untested.map(printable).join(', ')}.`);
  }
  return exitCode;
}

// The results of cases as JUnit XML, which CI servers show.

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
