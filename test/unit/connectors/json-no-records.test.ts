// What a JSON file without records means: a wrong path, a condition that no record fulfils, or an empty list.

import { describe, expect, it } from 'vitest';
import { json } from '../../../connectors/json/index.ts';
import { probe, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { zip } from '../../support/connectors/workbook.ts';

/** Reads a stream of JSON files, and returns what a run would store and log. */
async function read(content: unknown, stream: object): Promise<{ rows: number; warnings: string[] }> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  await using folder = await temporaryFolder({ 'in.json': text });
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  const setup = { folder: folder.path, stream: { path: '*.json', ...stream }, onWarning };
  return { rows: (await readRows(json, setup)).length, warnings };
}

const DEEP = { boms: [{ no: 1 }, { no: 2, items: { rows: [{ part: 'a' }] } }] };

describe('a path of nested JSON records that is wrong', () => {
  it.each([
    [
      { parts: [{ id: 1 }, { id: 2, lines: [{ no: 1 }] }] },
      '$.parts[*].linse[*]',
      'in.json has no list $.parts[*].linse: $.parts[*] has no linse; did you mean lines? It has id, lines.',
    ],
    [
      [{ Lines: [1] }],
      '$[*].lines[*]',
      'in.json has no list $[*].lines: $[*] has no lines; did you mean Lines? It has Lines.',
    ],
    [
      DEEP,
      '$.boms[*].items.row[*]',
      'in.json has no list $.boms[*].items.row: $.boms[*].items has no row; did you mean rows? It has rows.',
    ],
  ])('a misspelt path of nested JSON records is an error: %j with %s', async (content, at, message) => {
    await expect(read(content, { at })).rejects.toMatchObject({
      message,
      code: 'source.unreadable',
      exitCode: 3,
      suggestion: expect.stringContaining('Correct `at`'),
    });
  });

  it('a path of nested JSON records that no element has is a warning with the members that are there', async () => {
    const message =
      'No record was read. in.json has no list $.boms[*].items.lines: $.boms[*].items has no lines. It has rows. If there should be records, correct `at`.';
    expect(await read(DEEP, { at: '$.boms[*].items.lines[*]' })).toEqual({ rows: 0, warnings: [message] });
  });

  it('a member that is no list is no misspelt name of an optional list', async () => {
    const { warnings } = await read([{ id: 1, image: 'a.jpg' }], { at: '$[*].images[*]' });
    expect(warnings).toEqual([
      'No record was read. in.json has no list $[*].images: $[*] has no images. It has id, image. If there should be records, correct `at`.',
    ]);
    const { warnings: deep } = await read([{ items: [1] }], { at: '$[*].item.lines[*]' });
    expect(deep).toEqual([expect.stringContaining('$[*] has no item. It has items. If there should be records')]);
    await expect(read([{ items: { lines: [] } }], { at: '$[*].item.lines[*]' })).rejects.toThrow('did you mean items?');
  });

  it('an index that no list reaches is a warning with the indexes that are there', async () => {
    const { warnings } = await read([{ pages: [{ rows: [] }, {}] }], { at: '$[*].pages[2].rows[*]' });
    expect(warnings).toEqual([
      'No record was read. in.json has no list $[*].pages[2].rows: $[*].pages has no [2]. It has [0], [1]. If there should be records, correct `at`.',
    ]);
  });

  it('an odd name of a JSON member is shown in quotes', async () => {
    const { warnings } = await read([{ '': 1, 'a\nb': 2, 'c, d': 3, größe: 4 }], { at: '$[*]["my lines"][*]' });
    expect(warnings[0]).toContain('$[*] has no "my lines". It has "", "a\\nb", "c, d", größe. If');
  });

  it('a JSON object with many members is shown with twelve of them', async () => {
    const element = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`m${at}${'x'.repeat(100)}`, at]));
    const { warnings } = await read([element], { at: '$[*].lines[*]' });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/ It has m0x+…, (?:m\d+x+…, ){10}m11x+… and others\. /);
    expect(warnings[0]?.length).toBeLessThan(1_000);
  });

  it.each([
    ['[]', '$[*].lines[*]'],
    [[{ lines: [] }, { id: 2 }], '$[*].lines[*]'],
    [[{ id: 1, lines: null }], '$[*].lines[*]'],
    [[{ items: null }, {}], '$[*].items.lines[*]'],
    ['{"data":[]}', '$.data'],
  ])('a JSON file whose lists are empty is read without a warning: %j with %s', async (content, at) => {
    expect(await read(content, { at })).toEqual({ rows: 0, warnings: [] });
  });
});

it('check looks into each entry of an archive until one has a record, as a read does', async () => {
  const parts = { 'a.json': [{ id: 1 }], 'b.json': [{ lines: [{ no: 1 }] }] };
  const entries = Object.entries(parts).map(([name, content]) => ({
    name,
    data: Buffer.from(JSON.stringify(content)),
  }));
  await using folder = await temporaryFolder({ 'in.zip': zip(entries) });
  const setup = { folder: folder.path, stream: { path: 'in.zip', at: '$[*].lines[*]' } };
  expect(await readRows(json, setup)).toHaveLength(1);
  expect(await probe(json, setup)).toContain('columns no');
});

describe('a condition that no JSON record fulfils', () => {
  it('a condition that no JSON record fulfils is a warning with the values that are there', async () => {
    const parts = [{ model: 'part.part' }, { model: 'part.part', id: 2 }, { id: 3 }];
    const { rows, warnings } = await read(parts, { where: { model: 'part.prat' } });
    expect(rows).toBe(0);
    expect(warnings).toEqual([
      'No record was read. in.json has no record at $ with model = "part.prat". The values of model in it are "part.part", (no value). If there should be records, correct `where`.',
    ]);
  });

  it('a condition may have a name that each object of JavaScript has', async () => {
    const { warnings } = await read([{ constructor: 'Lotus' }, { id: 2 }], { where: { constructor: 'Ferrari' } });
    expect(warnings[0]).toContain('The values of constructor in it are "Lotus", (no value). If');
  });

  it('a long value of a record that is excluded is cut off visibly', async () => {
    const { warnings } = await read([{ kind: { text: 'x'.repeat(100) } }], { where: { kind: 'a' } });
    expect(warnings[0]).toMatch(/The values of kind in it are \{"text":"x{51}…\. If/);
  });

  it('a condition for a number is told from one for a text, also within a nested list', async () => {
    const { warnings } = await read([{ lines: [{ level: 1 }] }], { at: '$[*].lines[*]', where: { level: '1' } });
    expect(warnings[0]).toContain(
      'no record at $[*].lines with level = "1". The values of level in it are 1. If there should be records',
    );
  });

  it('of several conditions the first one is named that the best records do not fulfil', async () => {
    const records = [{ kind: 'b', level: 1 }, { kind: 'a', level: 2 }, { kind: 'c' }, { kind: 'a', level: 3 }];
    const { warnings } = await read(records, { where: { kind: 'a', level: 9 } });
    expect(warnings[0]).toContain('with level = 9. The values of level in it are 2, 3.');
  });

  it('one JSON record that fulfils the condition is enough for a read without a warning', async () => {
    const records = '{"kind":"b"}\n{"kind":"a"}\n{"kind":"b"}\n';
    expect(await read(records, { where: { kind: 'a' } })).toEqual({ rows: 1, warnings: [] });
  });
});
