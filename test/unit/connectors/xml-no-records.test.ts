// What a file without records means: a wrong path, a file without records of this kind, or an empty list.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { xml } from '../../../connectors/xml/index.ts';
import { readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { allRecords, madeFile } from './xml.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

interface Read {
  rows: number;
  warnings: string[];
}

/** Reads a stream of XML files, and returns what a run would store and log. */
async function read(
  files: string | Record<string, string>,
  at: string,
  contents: 'snapshot' | 'changes' = 'snapshot',
): Promise<Read> {
  await using folder = await temporaryFolder(typeof files === 'string' ? { 'parts.xml': files } : files);
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  const setup = { folder: folder.path, stream: { path: '*.xml', at, contents }, mode: contents, onWarning };
  return { rows: (await readRows(xml, setup)).length, warnings };
}

describe('a path of XML records that is wrong', () => {
  it.each([
    ['/parts/prat', '<parts><part/><part/></parts>', '/parts has no prat; did you mean part? It has part.'],
    ['/parts/Part', '<parts><head/><part/></parts>', '/parts has no Part; did you mean part? It has head, part.'],
    [
      '/parts/part/linse/line',
      '<parts><part><no/></part><part><lines><line/></lines></part></parts>',
      '/parts/part has no linse; did you mean lines? It has no, lines.',
    ],
    ['/parts//prat', '<parts><a><part/></a></parts>', '/parts has no prat; did you mean part? It has a, part.'],
    ['/parts/prat | /parts/list', '<parts><part/></parts>', '/parts has no prat or list; did you mean part?'],
    ['/export/parts/part', '<export><products><part/></products></export>', '/export has no parts. It has products.'],
    ['/PARTS/PART', '<parts><part/></parts>', 'the document has no PARTS; did you mean parts? It has parts.'],
    ['/part', '<parts/>', 'the document has no part; did you mean parts? It has parts.'],
    ['/parts/part', '<items><part/></items>', 'the document has no parts. It has items.'],
    ['//c', '<a><b/></a>', 'the document has no c. It has a, b.'],
    ['//c', '<a/>', 'the document has no c. It has a.'],
  ])(
    'a wrong path of XML records is an error that names the step and what is there: %s in %s',
    async (at, text, said) => {
      const failed = read(text, at);
      await expect(failed).rejects.toThrow(`parts.xml has no element ${at}: ${said}`);
      await expect(failed).rejects.toMatchObject({
        code: 'source.unreadable',
        exitCode: 3,
        suggestion: expect.stringContaining('Correct the path'),
      });
    },
  );

  it('a wrong path of XML records is an error with few names in bounded memory, however many names the file has', async () => {
    const nameOf = (at: number) => `n${'x'.repeat(900)}${at}`;
    let heldAtEnd = 0;
    const before = process.memoryUsage().heapUsed;
    const file = madeFile(
      (function* () {
        yield '<a>';
        for (let at = 0; at < 30_000; at += 1) yield `<${nameOf(at)}/>`;
        collectGarbage();
        heldAtEnd = process.memoryUsage().heapUsed - before;
        yield '</a>';
      })(),
    );
    const message = await allRecords(file, { at: '/a/b/c' }).catch((error: unknown) => String(error));
    expect(message).toMatch(/It has (n[^ ]+, ){11}n[^ ]+ and others\.$/);
    expect(message.length).toBeLessThan(1_000);
    // All names together are 27 MB long.
    expect(heldAtEnd).toBeLessThan(20_000_000);
  });
});

describe('an XML file with an empty list', () => {
  it.each([
    ['/parts/part', '<parts/>'],
    ['/parts/part', '<parts date="2026-01-31">\n <!-- none today -->\n</parts>'],
    ['/parts//part', '<parts/>'],
    ['/export/parts/part', '<export><head/><parts/></export>'],
    ['/parts/part/lines/line', '<parts/>'],
    ['/parts/part/lines/line', '<parts><part><no/><lines/></part><part><no/></part></parts>'],
    ['/a/b/c', '<a><b/></a>'],
  ])('an XML file with an empty list has no records, and nothing is said: %s in %s', async (at, text) => {
    expect(await read(text, at)).toEqual({ rows: 0, warnings: [] });
  });
});

describe('an XML file that has other elements in the place of records', () => {
  const said = (at: string, rest: string) => [
    `No record was read. parts.xml has no element ${at}: ${rest} If there should be records, correct \`at\`.`,
  ];

  it.each([
    ['/parts/part', '<parts><head/></parts>', '/parts has no part. It has head.'],
    ['/export/bom', '<export><product/><product/></export>', '/export has no bom. It has product.'],
    ['/parts/part/lines/line', '<parts><part><no/></part></parts>', '/parts/part has no lines. It has no.'],
    [
      '/doc/E1MARAM/E1MARCM',
      '<doc><E1MARAM><E1MARMM/></E1MARAM></doc>',
      '/doc/E1MARAM has no E1MARCM. It has E1MARMM.',
    ],
    ['/parts/p*t | /parts/list', '<parts><head/></parts>', '/parts has no p*t or list. It has head.'],
  ])('an XML file with other elements is read with one warning: %s in %s', async (at, text, rest) => {
    expect(await read(text, at)).toEqual({ rows: 0, warnings: said(at, rest) });
    expect(await read(text, at, 'changes')).toEqual({ rows: 0, warnings: said(at, rest) });
  });

  it('an XML file with other elements is no reason for a warning beside a file with records', async () => {
    const files = {
      'a.xml': '<parts><head/></parts>',
      'b.xml': '<parts><part/></parts>',
      'c.xml': '<parts><head/></parts>',
    };
    expect(await read(files, '/parts/part')).toEqual({ rows: 1, warnings: [] });
    const { warnings } = await read({ ...files, 'b.xml': '<parts/>' }, '/parts/part');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('a.xml has no element /parts/part');
  });
});
