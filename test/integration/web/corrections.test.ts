import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { dialectOf } from '../../../src/daemon/sources/open-source.ts';
import { planCorrections } from '../../../src/daemon/uploads/plan-corrections.ts';
import { readUpload } from '../../../src/daemon/uploads/read-upload.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { standingAsked } from '../../../src/observe/standing.ts';
import { csvFile, xlsxFile } from '../../../src/web/table-files.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'], delimiter: ';', encoding: 'windows-1252' },
  omit: ['PRICE'],
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', status: '"DRAFT"', country_of_origin: 'country(row.LAND)' },
    },
  ],
};
/** The third row has no country that the mapping knows, and the name of the second is a formula to a spreadsheet. */
const EXPORT = 'SKU;NAME;LAND;PRICE\r\nA-1;Kessel;DE;1\r\nA-2;=1+1;DE;2\r\n007;"Größe ""M"""; Untan;3\r\n';

let world: World;
let runtime: Runtime | null = null;

afterEach(async () => {
  await runtime?.close();
  runtime = null;
  await world.remove();
});

async function synced(text = EXPORT): Promise<Runtime> {
  world = await createWorld({
    config: { sources: [SOURCE] },
    files: { 'products.csv': Buffer.from(text, 'latin1') },
  });
  await world.sync();
  runtime = await world.open();
  return runtime;
}

async function* pageOf(rows: readonly JsonObject[]): AsyncGenerator<readonly JsonObject[]> {
  yield rows;
}

async function storedRows({ ledger }: Runtime, keys: readonly string[]): Promise<JsonObject[]> {
  const found = await ledger.recordsByKey({ source: 'erp', stream: 'default', keys });
  return found.map(({ fields }) => fields);
}

async function planOf(
  opened: Runtime,
  file: { name: string; bytes: Uint8Array },
  members: ReadonlyMap<string, readonly string[]> | null = null,
) {
  const [source] = opened.config.sources;
  if (source === undefined) throw new Error('There is no source.');
  const signal = new AbortController().signal;
  const rows = await readUpload(file, { source, stream: 'default', log: createRecordingLog(), signal });
  const mapper = await opened.mappers.refresh('erp');
  const of = { source: 'erp', stream: 'default', key: ['SKU'], omit: source.omit, isTable: true };
  return await planCorrections({ ...of, rows, members }, { ledger: opened.ledger, mapper });
}

const csv = (text: string) => ({ name: 'corrected.csv', bytes: Buffer.from(text, 'latin1') });

describe('corrected rows', () => {
  it('corrected rows are unchanged when a download is uploaded as it is, as CSV and as XLSX', async () => {
    const opened = await synced();
    const columns = ['SKU', 'NAME', 'LAND'];
    const rows = await storedRows(opened, ['A-1', 'A-2', '007']);
    expect(rows).toHaveLength(3);
    const [source] = opened.config.sources;
    if (source === undefined) throw new Error('There is no source.');
    const files = [
      { name: 'rows.csv', bytes: await buffer(csvFile(columns, pageOf(rows), dialectOf(source, 'default'))) },
      { name: 'rows.xlsx', bytes: await buffer(xlsxFile(columns, pageOf(rows))) },
    ];
    for (const file of files) {
      const plan = await planOf(opened, file);
      expect(plan.rows.map(({ key, fate, problems }) => ({ key, fate, problems }))).toEqual(
        ['A-1', 'A-2', '007'].map((key) => ({ key, fate: 'unchanged', problems: [] })),
      );
      expect(plan.corrections).toEqual([]);
    }
  });

  it('corrected rows arrive at the platform, change no row that the file lacks, and leave the last run of the source alone', async () => {
    const opened = await synced();
    const before = await opened.reads.lastRuns({ source: 'erp', limit: 5 });
    expect(await opened.reads.quarantinedCount()).toBe(1);
    const plan = await planOf(opened, csv('SKU;NAME;LAND\r\n007;"Größe ""M""";IT\r\n'));
    expect(plan.rows).toEqual([
      {
        line: 2,
        key: '007',
        fate: 'passes',
        problems: [],
        changes: [{ column: 'LAND', from: ' Untan', to: 'IT' }],
      },
    ]);
    await opened.startWorkers();
    const result = await opened.correct(
      { source: 'erp', stream: 'default', rows: plan.corrections },
      new AbortController().signal,
    );
    expect(result).toMatchObject({ result: 'complete', changed: 1, mapped: 1, quarantined: 0, leftOut: 0 });
    expect(await opened.reads.quarantinedCount()).toBe(0);
    expect((await opened.reads.standing(standingAsked(opened.config))).missing).toEqual({});
    expect(await opened.reads.lastRuns({ source: 'erp', limit: 5 })).toEqual(before);
    expect(await opened.reads.run(result.runId)).toMatchObject({
      trigger: 'upload',
      result: 'complete',
      streams: [{ read: 1, changed: 1, unchanged: 0, quarantined: 0, missing: 0 }],
    });
    await opened.close();
    runtime = null;
    await world.sync();
    // The next export has the row as it was, and wins.
    const after = await world.open();
    runtime = after;
    expect(await after.reads.quarantinedCount()).toBe(1);
    expect(world.contents().products.map(({ sku }) => sku)).toContain('007');
  });

  it('leave a failed run among what needs a person, and in the answer to why a product is not published', async () => {
    const opened = await synced();
    await opened.close();
    world.write('products.csv', 'NAME;LAND\r\nKessel;DE\r\n');
    await world.sync();
    const reopened = await world.open();
    runtime = reopened;
    const plan = await planOf(reopened, csv('SKU;NAME;LAND\r\n007;Kanne;IT\r\n'));
    const result = await reopened.correct(
      { source: 'erp', stream: 'default', rows: plan.corrections },
      new AbortController().signal,
    );
    expect(result).toMatchObject({ result: 'complete', changed: 1 });
    expect(await reopened.reads.causes({ type: 'run' })).toMatchObject([{ source: 'erp', count: 1 }]);
    const why = await reopened.reads.why('A-1');
    expect(why?.steps[0]?.text).toContain('The last read of its source erp failed');
  });

  it('corrected rows are refused where the stream has no such row, the key is empty or comes twice', async () => {
    const opened = await synced();
    const plan = await planOf(
      opened,
      csv('SKU,NAME,LAND,COLOUR\r\nB-9,New,DE,red\r\n,x,DE,\r\nA-1,Pot,FR,\r\nA-1,Pan,FR,\r\n'),
    );
    expect(plan.rows.map(({ line, fate, problems }) => ({ line, fate, problems: problems.join(' ') }))).toEqual([
      { line: 2, fate: 'refused', problems: expect.stringContaining('an upload adds no rows') },
      { line: 3, fate: 'refused', problems: expect.stringContaining('SKU is empty') },
      { line: 4, fate: 'passes', problems: '' },
      { line: 5, fate: 'refused', problems: expect.stringContaining('more than once') },
    ]);
    expect(plan.unknownColumns).toEqual(['COLOUR']);
    expect(plan.corrections.map(({ fields }) => fields)).toEqual([{ SKU: 'A-1', NAME: 'Pot', LAND: 'FR' }]);
  });

  it('corrected rows are left out where the record has changed since the person has seen it', async () => {
    const opened = await synced();
    await opened.startWorkers();
    const signal = new AbortController().signal;
    const first = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Pot;DE\r\n'));
    const second = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Pan;DE\r\n'));
    const store = (rows: typeof first.corrections) =>
      opened.correct({ source: 'erp', stream: 'default', rows }, signal);
    expect(await store(first.corrections)).toMatchObject({ changed: 1, leftOut: 0 });
    expect(await store(second.corrections)).toMatchObject({ changed: 0, leftOut: 1 });
    expect(await storedRows(opened, ['A-1'])).toEqual([{ SKU: 'A-1', NAME: 'Pot', LAND: 'DE' }]);
  });

  it('corrected rows lose the apostrophe that a download has put before text that a spreadsheet would run', async () => {
    const opened = await synced();
    const plan = await planOf(opened, csv("SKU;NAME;LAND\r\nA-2;'=2+2;FR\r\nA-1;'Kessel;DE\r\n"));
    expect(plan.corrections.map(({ fields }) => fields)).toEqual([
      { SKU: 'A-2', NAME: '=2+2', LAND: 'FR' },
      { SKU: 'A-1', NAME: "'Kessel", LAND: 'DE' },
    ]);
  });

  it('corrected rows are read as UTF-8 where the file is valid UTF-8, whatever the encoding of the source', async () => {
    const opened = await synced();
    const bytes = Buffer.from('SKU;NAME;LAND\r\nA-1;Größe – €;DE\r\n', 'utf8');
    const plan = await planOf(opened, { name: 'corrected.csv', bytes });
    expect(plan.corrections.map(({ fields }) => fields)).toEqual([{ SKU: 'A-1', NAME: 'Größe – €', LAND: 'DE' }]);
    const own = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Größe;DE\r\n'));
    expect(own.corrections.map(({ fields }) => fields)).toEqual([{ SKU: 'A-1', NAME: 'Größe', LAND: 'DE' }]);
  });

  it('corrected rows may be ASCII or UTF-8 where the stream is UTF-16, since few programs save CSV in UTF-16', async () => {
    const wide = { ...SOURCE, options: { ...SOURCE.options, encoding: 'utf-16le' } };
    world = await createWorld({
      config: { sources: [wide] },
      files: { 'products.csv': Buffer.from(EXPORT, 'utf16le') },
    });
    await world.sync();
    runtime = await world.open();
    for (const name of ['Pot', 'Größe – €']) {
      const bytes = Buffer.from(`SKU;NAME;LAND\r\nA-1;${name};DE\r\n`, 'utf8');
      const plan = await planOf(runtime, { name: 'corrected.csv', bytes });
      expect(plan.corrections.map(({ fields }) => fields)).toEqual([{ SKU: 'A-1', NAME: name, LAND: 'DE' }]);
    }
    const otherBytes = Buffer.from('SKU;NAME;LAND\r\nA-1;Größe;DE\r\n', 'latin1');
    await expect(planOf(runtime, { name: 'corrected.csv', bytes: otherBytes })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(
        /^corrected\.csv cannot be read: The header is not valid utf-16le.*\(corrected\.csv, line 1\)/,
      ),
    });
  });

  it('corrected rows are refused as usage, with the name of the file, where a workbook is cut off or is none', async () => {
    const opened = await synced();
    const rows = await storedRows(opened, ['A-1', 'A-2', '007']);
    const whole = await buffer(xlsxFile(['SKU', 'NAME', 'LAND'], pageOf(rows)));
    for (const bytes of [whole.subarray(0, whole.length / 2), Buffer.from('SKU;NAME;LAND\r\nA-1;Pot;DE\r\n')]) {
      const refused = planOf(opened, { name: 'corrected.xlsx', bytes });
      await expect(refused).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringMatching(/^corrected\.xlsx (cannot be read as|is not) an XLSX workbook/),
      });
    }
  });

  it('corrected rows are refused where several rows of the source have the key, and unchanged where nobody has edited them', async () => {
    const opened = await synced('SKU;NAME;LAND\r\nA-1;Kessel;DE\r\nA-1;Topf;FR\r\nA-2;Lampe;DE\r\n');
    const second = 'A-1\u001f2';
    expect(await storedRows(opened, [second])).toEqual([{ SKU: 'A-1', NAME: 'Topf', LAND: 'FR' }]);
    const members = new Map([['A-1', [second]]]);
    const unedited = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Topf;FR\r\n'), members);
    expect(unedited).toMatchObject({ rows: [{ fate: 'unchanged', problems: [], changes: [] }], corrections: [] });
    const both = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Kessel;DE\r\nA-1;Topf;FR\r\n'));
    expect(both.rows.map(({ fate }) => fate)).toEqual(['unchanged', 'unchanged']);
    const edited = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Pot;FR\r\n'), members);
    expect(edited).toMatchObject({
      rows: [{ fate: 'refused', problems: [expect.stringContaining('Several rows of the source have this key')] }],
      corrections: [],
    });
  });

  it('corrected rows are left out where another row has got the same key since the person has seen them', async () => {
    const opened = await synced();
    const plan = await planOf(opened, csv('SKU;NAME;LAND\r\nA-1;Pot;DE\r\n'));
    await opened.close();
    runtime = null;
    world.write('products.csv', Buffer.from(`${EXPORT}A-1;Topf;FR;4\r\n`, 'latin1'));
    await world.sync();
    const after = await world.open();
    runtime = after;
    await after.startWorkers();
    const request = { source: 'erp', stream: 'default', rows: plan.corrections };
    expect(await after.correct(request, new AbortController().signal)).toMatchObject({ changed: 0, leftOut: 1 });
    expect(await storedRows(after, ['A-1'])).toEqual([{ SKU: 'A-1', NAME: 'Kessel', LAND: 'DE' }]);
  });

  it('corrected rows are refused where they are not among the rows that may be corrected', async () => {
    const opened = await synced();
    const file = csv('SKU;NAME;LAND\r\nA-1;Pot;DE\r\n007;"Größe ""M""";IT\r\n');
    const plan = await planOf(opened, file, new Map([['007', ['007']]]));
    expect(plan.rows.map(({ key, fate, problems }) => ({ key, fate, problems: problems.join(' ') }))).toEqual([
      { key: 'A-1', fate: 'refused', problems: expect.stringContaining('not one of the rows of this cause') },
      { key: '007', fate: 'passes', problems: '' },
    ]);
    expect(plan.corrections).toHaveLength(1);
  });

  it('corrected rows show which of them still fail', async () => {
    const opened = await synced();
    const plan = await planOf(opened, csv('SKU;NAME;LAND\r\n007;"Größe ""M""";Nirgends\r\n'));
    expect(plan.rows).toMatchObject([{ fate: 'fails', problems: [expect.stringContaining('Nirgends')] }]);
  });
});
