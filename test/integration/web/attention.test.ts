import { buffer } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { afterEach, describe, expect, it } from 'vitest';
import type { CauseType } from '../../../src/domain/advice.ts';
import type { Cause } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { xlsxFile } from '../../../src/web/table-files.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { textOf } from '../../support/connectors/connector-reader.ts';
import { type AttentionOptions, createAttentionWorld } from '../../support/worlds/attention-world.ts';
import { type ServedWorld, startDaemon } from '../../support/worlds/daemon-world.ts';

/** Three rows whose state the table lacks, and one with an unknown country. The platform refuses B-1 and B-2. */
const ROWS = [
  'A-1;Kessel;10;DE',
  'A-2;=1+1;99;DE',
  'A-3;"Größe ""M""";99;DE',
  '007;@home;99;DE',
  'A-5;Lampe;10; Nirgends',
  'B-1;Alt;20;DE',
  'B-2;Uralt;20;DE',
];

let served: ServedWorld;
let web: WebForms;
afterEach(() => served.remove());

async function started(options: Partial<AttentionOptions> = {}): Promise<void> {
  served = await startDaemon(await createAttentionWorld({ rows: ROWS, ...options }));
  web = webForms(served.url);
}

const skus = () => served.world.contents().products.map(({ sku }) => textOf(sku));

/** Tries a replay. Returns the page of the cause when the try has ended, and the page of its task. */
async function tried(cause: string): Promise<{ page: string; task: string }> {
  const { to } = await web.post(`/attention/${cause}/replay/try`);
  // The answer waits only for a moment, so a try on a busy machine may not have ended.
  const task = await web.taskPage(`/tasks/${to.split('tried=')[1]}`);
  return { page: (await web.get(to)).text, task };
}

async function causeOf(type: CauseType, code?: string): Promise<Cause> {
  const causes = await served.daemon.runtime.reads.causes({ type });
  const cause = causes.find((one) => code === undefined || one.code === code);
  if (cause === undefined) throw new Error(`There is no such cause among ${JSON.stringify(causes)}.`);
  return cause;
}

describe('what needs attention', () => {
  it('the inbox is grouped by cause, and a cause shows its rows with the cell at fault marked', async () => {
    await started();
    const inbox = await web.get('/attention');
    expect(inbox.status).toBe(200);
    expect(inbox.text).toContain('3 rows');
    expect(inbox.text).toContain('2 items');
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    const { text } = await web.get(`/attention/${id}`);
    expect(text.match(/<td class="wrong" /g)).toHaveLength(3);
    expect(text).toContain('Wrong: </span>99</td>');
    expect(text).toContain('products.csv:3');
    expect(await web.get('/attention/0123abcd')).toMatchObject({ status: 404 });
  });

  it('a cause replays its group once the platform accepts it, after it has shown how many would pass', async () => {
    await started();
    const stuck = await causeOf('quarantine', 'lookup.unknown');
    expect((await tried(stuck.id)).page).toContain('0 of 3 would pass now.');
    const { id } = await causeOf('rejected');
    const before = await web.post(`/attention/${id}/replay`);
    expect(await web.taskPage(before.to)).toContain('2 of 2 are still stuck for the same cause');
    served.world.sandbox.faults.clear();
    const { to } = await web.post(`/attention/${id}/replay`);
    const task = await web.taskPage(to);
    expect(task).toContain('Nothing is stuck any more for this cause');
    expect(task).toContain('2 stored rows were mapped again: 2 passed the mapping.');
    expect(skus().toSorted()).toEqual(['A-1', 'B-1', 'B-2']);
    const solved = await web.get(`/attention/${id}`);
    expect(solved).toMatchObject({ status: 200 });
    expect(solved.text).toContain('<h1>Solved</h1>');
    expect(solved.text).toContain('2 passports waited for it.');
    const [last] = (await served.daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(last?.outcome).toMatch(
      /^Done\. Nothing is stuck any more .* 2 stored rows were mapped again: 2 passed the mapping\./,
    );
  });

  it('a cause leaves to the platform whether refused items would pass, also where no row is mapped for them', async () => {
    const closed = { enabled: false };
    await started({
      config: { passports: { init: 'when-complete', publish: 'auto' } },
      sandbox: {
        gates: {
          productComplete: closed,
          bomPresent: closed,
          materialData: closed,
          review: { enabled: true, match: 'A-1' },
        },
      },
    });
    for (const [type, sum] of [
      ['blocked', '1 of 1 would be sent again.</b> The platform decides whether it passes.'],
      ['rejected', '2 of 2 would be sent again.</b> The platform decides whether they pass.'],
    ] as const) {
      const { id } = await causeOf(type);
      const { page, task } = await tried(id);
      expect(page).toContain(sum);
      expect(task).toContain(' would be sent, and the platform decides');
      expect(task).not.toContain('0 stored rows');
    }
  });

  it('a cause takes the value of a lookup table that its expression reads also where another function refuses the value', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'country.unknown');
    const { text } = await web.get(`/attention/${id}`);
    expect(text).toContain('<option value="countries.csv">');
    expect(text).not.toContain('<option value="states">');
    expect(text).toMatch(/name="key"[^>]* value="Nirgends"/);
    await web.post(`/attention/${id}/lookup`, { lookup: 'countries.csv', key: 'Nirgends', value: 'DE' });
    await expect.poll(() => skus().toSorted()).toEqual(['A-1', 'A-5']);
  });

  it('a cause says that the mapping before was used where the daemon has refused the present config', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    expect((await tried(id)).page).not.toContain('refused the present config');
    served.world.write('dpp-sync.yaml', 'sources: 1\n');
    expect(await served.daemon.reload('person')).toMatchObject({ ok: false });
    const { page, task } = await tried(id);
    expect(page).toContain('refused the present config, so it used the former mapping');
    expect(task).toContain('refused the present config');
  });

  it('a cause maps its rows again when a person adds the value that a lookup table lacks, lists the value and removes it', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    expect((await web.get(`/attention/${id}`)).text).toContain('<option value="states">');
    const { status, to } = await web.post(`/attention/${id}/lookup`, { lookup: 'states', key: '99', value: 'ACTIVE' });
    expect({ status, to }).toEqual({ status: 303, to: `/attention/${id}` });
    await expect.poll(() => skus().toSorted()).toEqual(['007', 'A-1', 'A-2', 'A-3']);
    const list = await web.get('/attention/lookup-values');
    expect(list.text).toMatch(/states[\s\S]*99[\s\S]*ACTIVE[\s\S]*token/);
    await web.press(list.text, { action: '/attention/lookup-values/remove' });
    await expect.poll(() => served.daemon.runtime.reads.quarantinedCount()).toBe(4);
    expect((await web.get('/attention/lookup-values')).text).toContain('Nobody has added a value.');
    expect(await web.post('/attention/lookup-values', { lookup: 'none', key: 'a', value: 'b' })).toMatchObject({
      status: 400,
    });
  });

  it('a cause keeps a note and an owner, and removes them', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    const save = async (fields: Record<string, string>) =>
      web.press((await web.get(`/attention/${id}`)).text, { action: `/attention/${id}/note` }, fields);
    await save({ owner: 'Ada', text: 'Asked the ERP team <b>today</b>.' });
    const noted = await web.get('/attention');
    expect(noted.text).toContain('Ada');
    expect(noted.text).toContain('Asked the ERP team &lt;b&gt;today&lt;/b&gt;.');
    expect((await causeOf('quarantine', 'lookup.unknown')).note).toMatchObject({ owner: 'Ada', by: 'token' });
    await save({ owner: '', text: '' });
    expect((await causeOf('quarantine', 'lookup.unknown')).note).toBeNull();
  });

  it('a cause settles an item by hand, alone or with its group', async () => {
    await started();
    const { id } = await causeOf('rejected');
    expect((await web.get(`/attention/${id}`)).text).toContain('Settle B-1');
    const { to } = await web.post(`/attention/${id}/settle`, { resolution: 'ignored', kind: 'product', key: 'B-1' });
    expect(await web.taskPage(to)).toContain('1 item of 1 settled.');
    const group = await web.post(`/attention/${id}/settle`, { resolution: 'delivered' });
    expect(await web.taskPage(group.to)).toContain('1 item could not be settled in this way');
    expect(await served.daemon.runtime.reads.item('product', 'B-1')).toMatchObject({ state: 'superseded' });
    expect(await web.post(`/attention/${id}/settle`, { resolution: 'perhaps' })).toMatchObject({ status: 400 });
  });
});

it('a cause refuses a form that names an item only in part, so that it does not act on the whole group', async () => {
  await started();
  const { id } = await causeOf('rejected');
  const before = await served.daemon.runtime.reads.itemCounts();
  const ignored = { resolution: 'ignored' };
  for (const [path, fields] of [
    ['settle', { ...ignored, kind: 'product', sku: 'B-1' }],
    ['settle', { ...ignored, kind: 'product' }],
    ['settle', { ...ignored, key: 'B-1' }],
    ['settle', { ...ignored, kind: 'produkt', key: 'B-1' }],
    ['replay', { key: 'B-1' }],
    ['replay/try', { key: 'B-1' }],
  ] as const) {
    expect([fields, (await web.post(`/attention/${id}/${path}`, fields)).status]).toEqual([fields, 400]);
  }
  expect(await served.daemon.runtime.reads.itemCounts()).toEqual(before);
});

describe('the files of a cause', () => {
  it('the CSV file of a cause has the delimiter and the encoding of the source, and no cell that a spreadsheet would run', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    const { bytes, headers } = await web.bytes(`/attention/${id}/rows.csv`);
    expect(headers.get('content-disposition')).toContain('filename="erp-default-lookup-unknown-status.csv"');
    const rows = parse(iconv.decode(Buffer.from(bytes), 'windows-1252'), { delimiter: ';' });
    const cure = 'Add the translation to the table, or ask IT for a default: the third argument of lookup().';
    const wrong = `The lookup file "./states.csv" has no entry for "99". ${cure}`;
    expect(rows).toEqual([
      ['SKU', 'NAME', 'STATE', 'LAND', 'dpp-sync: what is wrong'],
      ['A-2', "'=1+1", '99', 'DE', wrong],
      ['A-3', 'Größe "M"', '99', 'DE', wrong],
      ['007', "'@home", '99', 'DE', wrong],
    ]);
  });

  it('the workbook of a cause has cells that are all text', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    const { bytes } = await web.bytes(`/attention/${id}/rows.xlsx`);
    const sheet = await sheetOf(bytes);
    expect(sheet).not.toContain('<f>');
    expect(sheet.match(/<c /g)).toHaveLength(20);
    expect(sheet.match(/t="inlineStr"/g)).toHaveLength(20);
    expect(sheet).toContain('>=1+1</t>');
    expect(sheet).toContain('>007</t>');
  });

  it('a corrected file of a cause shows what would happen to each row, and is stored only when a person confirms', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    const corrected = [
      { SKU: 'A-2', NAME: '=1+1', STATE: '10', LAND: 'DE' },
      { SKU: '007', NAME: '@home', STATE: '77', LAND: 'DE' },
      { SKU: 'A-3', NAME: 'Größe "M"', STATE: '99', LAND: 'DE' },
      { SKU: 'N-1', NAME: 'New', STATE: '10', LAND: 'DE' },
    ];
    async function* pages() {
      yield corrected;
    }
    const bytes = await buffer(xlsxFile(['SKU', 'NAME', 'STATE', 'LAND'], pages()));
    const sent = await web.upload(`/attention/${id}/upload`, { name: 'corrected.xlsx', bytes });
    expect(sent).toMatchObject({ status: 303 });
    const preview = await web.get(sent.to);
    expect(preview.text).toMatch(/A-2[\s\S]*passes[\s\S]*STATE[\s\S]*99[\s\S]*10/);
    expect(preview.text).toContain('1 row</li>');
    expect(preview.text).toContain('an upload adds no rows');
    expect(preview.text).toContain('If the next export of the source still has the old rows, they replace');
    expect(preview.text).toContain('Store 2 rows');
    expect(await served.daemon.runtime.reads.quarantinedCount()).toBe(4);
    const { to } = await web.post(sent.to);
    const task = await web.taskPage(to);
    expect(task).toContain('<b>2 rows stored:</b> 1 passed, 1 still fails');
    await expect.poll(() => skus().toSorted()).toEqual(['A-1', 'A-2']);
    expect((await served.daemon.runtime.reads.item('product', 'A-2'))?.desired).toMatchObject({ name: '=1+1' });
    expect(await web.post(sent.to)).toMatchObject({ status: 404 });
  });

  it('a file of a cause changes no row where several rows have the key: unedited it differs in nothing, edited it is refused', async () => {
    await started({ rows: ['A-1;Kessel;10;DE', 'A-1;Größe;10;DE'] });
    const { id } = await causeOf('quarantine', 'claim.conflict');
    const { bytes } = await web.bytes(`/attention/${id}/rows.csv`);
    const text = iconv.decode(Buffer.from(bytes), 'windows-1252');
    expect(text).toContain('A-1;Größe;10;DE');
    const preview = async (content: string) => {
      const file = { name: 'rows.csv', bytes: iconv.encode(content, 'windows-1252') };
      const { to } = await web.upload(`/attention/${id}/upload`, file);
      return { to, text: (await web.get(to)).text };
    };
    const unedited = await preview(text);
    expect(unedited.text).toContain('Nothing in the file differs from what is stored');
    const edited = await preview(text.replace('Größe', 'Kanne'));
    expect(edited.text).toContain('Several rows of the source have this key');
    expect(edited.text).toContain('There is nothing that can be stored.');
    expect(await web.post(edited.to)).toMatchObject({ status: 400 });
    const other = await web.upload(`/attention/${id}/upload`, {
      name: 'rows.xlsx',
      bytes: Buffer.from('SKU;NAME;STATE;LAND\r\nA-1;Pot;10;DE\r\n'),
    });
    expect(other).toMatchObject({ status: 400, text: expect.stringContaining('rows.xlsx') });
  });

  it('a file of a cause is refused where it is too large or has no key', async () => {
    await started();
    const { id } = await causeOf('quarantine', 'lookup.unknown');
    const path = `/attention/${id}/upload`;
    const huge = await web.upload(path, { name: 'a.csv', bytes: new Uint8Array(17 * 1024 * 1024) });
    expect(huge.status).toBe(413);
    const keyless = await web.upload(path, { name: 'a.csv', bytes: Buffer.from('NAME;STATE\nx;10\n') });
    expect((await web.get(keyless.to)).text).toContain('SKU is empty or missing');
  });
});

async function sheetOf(bytes: Uint8Array): Promise<string> {
  const { fromBufferPromise } = await import('yauzl');
  const zip = await fromBufferPromise(Buffer.from(bytes));
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName !== 'xl/worksheets/sheet1.xml') continue;
    const stream = await zip.openReadStreamPromise(entry);
    return (await buffer(stream)).toString('utf8');
  }
  throw new Error('The workbook has no sheet.');
}
