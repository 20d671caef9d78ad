import { readdirSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import { createStringTable } from '../../../connectors/xlsx/shared-strings.ts';
import { probe, readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { textRow, workbook, type ZipPart, zip } from '../../support/connectors/workbook.ts';
import { cpuMs } from '../support/cpu-time.ts';

async function failure(
  content: Buffer | string,
  stream: object = {},
): Promise<{ message: string; suggestion: string }> {
  await using folder = await temporaryFolder({ 'in.xlsx': content });
  const setup = { folder: folder.path, stream: { path: 'in.xlsx', ...stream } };
  const read = await readRows(xlsx, setup).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(read).toMatchObject({ code: 'source.unreadable', suggestion: expect.stringMatching(/\.$/) });
  await expect(probe(xlsx, setup)).rejects.toMatchObject({ code: 'source.unreadable' });
  return read as { message: string; suggestion: string };
}

const OLE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
const good = { sheet: textRow(1, 'a') + textRow(2, '1') };

/** The compressed form of a block that is repeated many times. The uncompressed text is never in memory. */
function repeated(block: Buffer, count: number): { deflated: Buffer; size: number } {
  const compressed = deflateRawSync(block, { finishFlush: constants.Z_FULL_FLUSH });
  const blocks = Array.from({ length: count }, () => compressed);
  return { deflated: Buffer.concat([...blocks, deflateRawSync(Buffer.alloc(0))]), size: block.length * count };
}

/** A part with something huge in its middle. */
function hugePart(name: string, options: { head: string; block: Buffer; count: number }): ZipPart {
  const head = deflateRawSync(Buffer.from(options.head), { finishFlush: constants.Z_FULL_FLUSH });
  const { deflated, size } = repeated(options.block, options.count);
  return {
    name,
    data: Buffer.alloc(0),
    deflated: Buffer.concat([head, deflated]),
    size: Buffer.byteLength(options.head) + size,
    crc: crc32(''),
  };
}

/** A megabyte that shrinks to a hundredth only, so that the file is no zip bomb by its ratio. */
const LETTERS = Buffer.from(
  Array.from({ length: 1_024 }, (_, index) => `${(index * 2_654_435_761) % 1e9}`.padEnd(1_024, 'x')).join(''),
);

async function measured(work: () => Promise<void>): Promise<{ ms: number; grownMb: number }> {
  const before = process.memoryUsage.rss();
  const start = cpuMs();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  await work();
  clearInterval(timer);
  return { ms: cpuMs() - start, grownMb: (Math.max(peak, process.memoryUsage.rss()) - before) / 2 ** 20 };
}

describe('a file that is no workbook is called what it is', () => {
  it.each([
    ['', 'in.xlsx is empty.'],
    ['sku;name\n1;2\n', 'in.xlsx is not an XLSX workbook.'],
    ['<?xml version="1.0"?><BMECAT/>', 'in.xlsx is XML, not an XLSX workbook.'],
    ['<!DOCTYPE html><html><body>Sign in</body></html>', 'in.xlsx is an HTML page, not an XLSX workbook.'],
    ['{"error": "denied"}', 'in.xlsx is JSON, not an XLSX workbook.'],
    ['%PDF-1.7\n', 'in.xlsx is a PDF, which dpp-sync does not read.'],
    [OLE, 'in.xlsx is a workbook of Excel 97 to 2003 (.xls), not an XLSX workbook.'],
    [
      Buffer.concat([OLE, Buffer.alloc(2_000), Buffer.from('EncryptedPackage', 'utf16le'), Buffer.alloc(4_000)]),
      'in.xlsx is an encrypted workbook: it needs a password.',
    ],
    [zip([{ name: 'products.csv', data: Buffer.from('a\n1\n') }]), 'in.xlsx/products.csv is not an XLSX workbook.'],
    [zip([{ name: 'mimetype', data: Buffer.from('application/vnd.oasis') }]), 'in.xlsx is an OpenDocument file'],
  ])('a file that is no workbook is called by its kind (%#)', async (content, message) => {
    expect((await failure(content)).message).toContain(message);
  });

  it('a workbook in the binary form is called by its kind', async () => {
    const relations =
      '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>';
    const content = zip([
      { name: '[Content_Types].xml', data: Buffer.from('<Types/>') },
      { name: '_rels/.rels', data: Buffer.from(relations) },
      { name: 'xl/workbook.bin', data: Buffer.alloc(10) },
    ]);
    expect((await failure(content)).message).toContain('is a binary workbook (.xlsb)');
  });
});

describe('a workbook that is damaged stops the read', () => {
  it('a workbook that was cut off stops the read', async () => {
    const whole = workbook(good);
    for (const share of [0.99, 0.7, 0.1]) await failure(whole.subarray(0, whole.length * share));
  });

  it('a workbook whose sheet has a wrong checksum stops the read', async () => {
    const data = Buffer.from('<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>');
    const content = workbook({ ...good, parts: [{ name: 'xl/worksheets/sheet1.xml', data, crc: 1 }] });
    await using folder = await temporaryFolder({ 'in.xlsx': content });
    await expect(readRows(xlsx, { folder: folder.path, stream: { path: 'in.xlsx' } })).rejects.toThrow(
      'the checksum of xl/worksheets/sheet1.xml is wrong',
    );
  });

  it('a workbook whose sheet has broken XML, or XML that is cut off, stops the read', async () => {
    for (const text of ['<worksheet><sheetData><row></worksheet>', '<worksheet><sheetData><row>', 'x', '']) {
      const content = workbook({ ...good, parts: [{ name: 'xl/worksheets/sheet1.xml', data: Buffer.from(text) }] });
      expect((await failure(content)).message).toContain('xl/worksheets/sheet1.xml');
    }
  });
});

describe('a workbook whose rows or cells are not in order stops the read, because the place of a value is not certain', () => {
  it.each([
    [textRow(3, 'three') + textRow(2, 'two'), 'its rows are not in order: row 2 stands after row 3'],
    [textRow(2, 'two') + textRow(2, 'again'), 'its rows are not in order: row 2 stands after row 2'],
    ['<row r="abc"><c r="A2"><v>1</v></c></row>', 'a row has the number "abc"'],
    ['<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>', 'the cells of row 2 are not in order'],
    ['<row r="2"><c r="B2"><v>1</v></c><c r="A2"><v>2</v></c></row>', 'the cells of row 2 are not in order'],
  ])('a workbook whose rows or cells are not in order stops the read (%#)', async (rows, message) => {
    expect((await failure(workbook({ sheet: textRow(1, 'a', 'b') + rows }))).message).toContain(message);
  });
});

describe('a hostile workbook ends in bounded memory and time', () => {
  it('a hostile workbook with a document type and entities ends in bounded memory and time', async () => {
    const data = Buffer.from(
      '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><worksheet><sheetData><row><c t="str"><v>&b;</v></c></row></sheetData></worksheet>',
    );
    for (const name of ['xl/worksheets/sheet1.xml', 'xl/sharedStrings.xml', 'xl/workbook.xml']) {
      const content = workbook({ ...good, parts: [{ name, data }] });
      expect((await failure(content)).message).toContain('it has a document type, which workbooks never have');
    }
  });

  it.each(['xl/worksheets/sheet1.xml', 'xl/sharedStrings.xml'])(
    'a hostile workbook with a cell of 1 GB in %s ends in bounded memory and time',
    async (name) => {
      const head = name.includes('sheet1') ? '<worksheet><sheetData><row><c t="str"><v>' : '<sst xmlns="urn:x"><si><t>';
      const content = workbook({ ...good, parts: [hugePart(name, { head, block: LETTERS, count: 1_024 })] });
      const { ms, grownMb } = await measured(async () => {
        expect((await failure(content)).message).toContain('it has a value or a tag of more than');
      });
      expect(ms).toBeLessThan(10_000);
      expect(grownMb).toBeLessThan(250);
    },
  );

  it('a hostile workbook with tags that are never closed ends in bounded memory and time', async () => {
    const block = Buffer.from('<row>'.repeat(200_000));
    const part = hugePart('xl/worksheets/sheet1.xml', { head: '<worksheet><sheetData>', block, count: 10 });
    expect((await failure(workbook({ ...good, parts: [part] }))).message).toContain('nested more than 100 levels deep');
  });

  it('a hostile workbook with a sheet that unpacks to a thousand times its size ends in bounded memory and time', async () => {
    const block = Buffer.from('<row/>'.repeat(180_000));
    const part = hugePart('xl/worksheets/sheet1.xml', { head: '<worksheet><sheetData>', block, count: 1_024 });
    const { ms } = await measured(async () => {
      expect((await failure(workbook({ ...good, parts: [part] }))).message).toContain('treats the file as a zip bomb');
    });
    expect(ms).toBeLessThan(5_000);
  });

  it('a hostile workbook with a sheet that is larger than accepted, or larger than the directory says ends in bounded memory and time', async () => {
    const block = Buffer.from(`<row><c><v>${'1'.repeat(500)}</v></c></row>`.repeat(2_000));
    const head = `<worksheet><sheetData>${textRow(1, 'a')}`;
    const part = hugePart('xl/worksheets/sheet1.xml', { head, block, count: 3 });
    expect((await failure(workbook({ ...good, parts: [part] }), { maxUnpackedBytes: 2_000_000 })).message).toMatch(
      /unpacks to \d+ bytes; at most 2000000 are accepted/,
    );
    const lying = { ...part, size: 100_000 };
    await using folder = await temporaryFolder({ 'in.xlsx': workbook({ ...good, parts: [lying] }) });
    await expect(readRows(xlsx, { folder: folder.path, stream: { path: 'in.xlsx' } })).rejects.toThrow(
      'xl/worksheets/sheet1.xml is larger than the directory of the archive says',
    );
  });
});

describe('shared texts beyond what is kept in memory', () => {
  const texts = Array.from({ length: 5_000 }, (_, index) => `text ${index} ${'ä😀'.repeat(index % 300)}`);
  texts.push('', 'longer than several blocks '.repeat(10_000), '', 'ä');

  it.for([0, 100_000])(
    'shared texts beyond %i bytes come from a temporary file, in any order, and the file is removed',
    async (memoryBytes) => {
      // Other tests of this machine make such files in the folder of the machine meanwhile.
      await using folder = await temporaryFolder();
      vi.stubEnv('TMPDIR', folder.path);
      onTestFinished(() => void vi.unstubAllEnvs());
      const table = createStringTable({ cellMax: 1_000_000, memoryBytes });
      for (const text of texts) {
        table.part.open('si', {});
        table.part.open('t', {});
        table.part.text(text);
        table.part.close('t');
        table.part.close('si');
      }
      expect(readdirSync(folder.path)).toHaveLength(1);
      for (let index = 0; index < texts.length; index++) {
        const at = (index * 7_919) % texts.length;
        expect(table.strings.get(at)).toBe(texts[at]);
      }
      expect(table.strings.get(texts.length)).toBeUndefined();
      table.strings.close();
      expect(readdirSync(folder.path)).toEqual([]);
    },
  );
});

describe('files that were opened', () => {
  const openFiles = async (path: string) => {
    const handles = await readdir('/proc/self/fd');
    const targets = await Promise.all(handles.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
    return targets.filter((target) => target.startsWith(path));
  };

  it('workbook files are closed at the end, after a fault, and when the reader stops', async () => {
    const sheet =
      textRow(1, 'a') + Array.from({ length: 3_000 }, (_, index) => textRow(index + 2, `v${index}`)).join('');
    await using folder = await temporaryFolder({
      'in.xlsx': workbook({ sheet }),
      'bad.xlsx': workbook({ sheet: '<row>' }),
    });
    await readRows(xlsx, { folder: folder.path, stream: { path: 'in.xlsx' } });
    await expect(readRows(xlsx, { folder: folder.path, stream: { path: 'bad.xlsx' } })).rejects.toThrow();
    await probe(xlsx, { folder: folder.path, stream: { path: 'in.xlsx' } });
    for await (const page of readPages(xlsx, { folder: folder.path, stream: { path: 'in.xlsx' } })) {
      expect(page.rows).toHaveLength(500);
      break;
    }
    await expect.poll(() => openFiles(folder.path)).toEqual([]);
  });
});
