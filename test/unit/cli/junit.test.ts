import { SaxesParser } from 'saxes';
import { describe, expect, it } from 'vitest';
import { junitXml } from '../../../src/cli/cases/test.ts';
import type { TestedCase } from '../../../src/operations/test-document.ts';

interface Element {
  name: string;
  attributes: Record<string, string>;
  text: string;
}

/** The elements of a document, in the order in which they end. Throws if it is not XML 1.0. */
function elementsOf(xml: string): Element[] {
  const elements: Element[] = [];
  const open: Element[] = [];
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => void open.push({ name, attributes: { ...attributes }, text: '' }));
  parser.on('text', (text) => {
    const at = open.at(-1);
    if (at !== undefined) at.text += text;
  });
  parser.on('closetag', () => void elements.push(...open.splice(-1)));
  parser.write(xml).close();
  return elements;
}

const passed: TestedCase = {
  file: 'a.yaml',
  line: 2,
  name: 'fine',
  source: 'erp',
  stream: 'products',
  result: 'passed',
  differences: [],
  hints: [],
};
const failed: TestedCase = {
  ...passed,
  file: 'b.yaml',
  line: null,
  result: 'failed',
  name: 'a <b> & "c" \'d\'\u0001\ttab',
  differences: [
    {
      path: 'items[0].fields.name',
      line: 7,
      item: { kind: 'product', key: 'A\u0000' },
      expected: ']]>\u0007\ud800\r\n',
      got: 'é\uffff',
    },
  ],
};

describe('the JUnit XML of cases', () => {
  it('the JUnit XML has a suite for each file, and counts the cases', () => {
    const elements = elementsOf(junitXml([passed, failed, { ...failed, name: 'x' }]));
    const suites = elements.filter(({ name }) => name.startsWith('testsuite'));
    expect(suites.map(({ attributes }) => attributes)).toEqual([
      { name: 'a.yaml', tests: '1', failures: '0', errors: '0', skipped: '0' },
      { name: 'b.yaml', tests: '2', failures: '2', errors: '0', skipped: '0' },
      { name: 'dpp-sync test', tests: '3', failures: '2', errors: '0', skipped: '0' },
    ]);
    expect(elements.find(({ name }) => name === 'testcase')?.attributes).toEqual({
      name: 'fine',
      classname: 'erp/products',
      file: 'a.yaml',
      line: '2',
    });
  });

  it('the JUnit XML is XML with each text as it was, and shows the characters that XML cannot have', () => {
    const elements = elementsOf(junitXml([failed]));
    const [failure, test] = elements;
    expect(test?.attributes['name']).toBe('a <b> & "c" \'d\'\\u0001\ttab');
    expect(failure).toMatchObject({ name: 'failure', attributes: { type: 'difference' } });
    expect(failure?.text.split('\n')).toEqual([
      'product A\\u0000, name (line 7)',
      '  expected  "]]>\\u0007\\ud800\\r\\n"',
      '  got       "é\\uffff"',
    ]);
    expect(failure?.attributes['message']).toBe(
      'product A\\u0000, name (line 7), expected "]]>\\u0007\\ud800\\r\\n", got "é\\uffff"',
    );
  });
});
