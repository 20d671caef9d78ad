import { request } from 'undici';
import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/control/settings.ts';
import { readPdf } from '../support/read-pdf.ts';
import { startSandbox } from '../support/sandbox-caller.ts';

async function startWithPassport(product: object = {}, options: SandboxOptions = {}) {
  const running = await startSandbox(options);
  const { call, baseUrl, key } = running;
  await call('POST', '/api/products/', {
    body: { sku: 'BIKE-1', name: 'Fahrrad', country_of_origin: 'DE', ...product },
  });
  await call('POST', '/api/products/', { body: { sku: 'BELL-1', name: 'Bell' } });
  await call('POST', '/api/materials/', { body: { code: 'ST-1', name: 'Steel', origin_country: 'SE' } });
  await call('POST', '/api/bom-items/', {
    body: { product: 1, material: 1, quantity: '2.5', unit: 'kg', position: '0010' },
  });
  await call('POST', '/api/bom-items/', { body: { product: 1, component: 2, quantity: 1 } });
  await call('POST', '/api/dpp/1/init/');
  const download = async (id = 1) => {
    const answer = await request(`${baseUrl}/api/exports/passport/${id}.pdf`, { headers: { 'x-api-key': key } });
    return { answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };
  const read = async () => readPdf((await download()).bytes);
  return { ...running, download, read };
}

test('exports a passport with its product, materials, BOM, state and the QR code of its GS1 Digital Link', async () => {
  const { call, clock, download } = await startWithPassport({
    gtin: '04012345678901',
    status: 'ACTIVE',
    description: 'Light.\r\nWith (two) \\ wheels.',
  });
  await call('POST', '/api/materials/', {
    body: {
      code: 'AL-2',
      name: 'Aluminium',
      description: 'Cast.',
      category: 'Metal',
      origin_country: 'NO',
      recycled_mass_fraction: '0.355',
      hazardous: false,
      composition: [
        { name: 'Aluminium', cas: '7429-90-5', mass_fraction: '0.98' },
        { name: 'Rest', mass_fraction: '0.02' },
      ],
    },
  });
  await call('POST', '/api/bom-items/', {
    body: {
      product: 1,
      material: 2,
      quantity: '3',
      unit: 'pcs',
      per_quantity: '100',
      position: '0030',
      mass: { value: '0.4', unit: 'kg' },
      mass_fraction: '0.07',
      valid_from: '2026-01-01',
      valid_to: '2026-12-31',
    },
  });
  const { public_url: publicUrl } = (await call('POST', '/api/dpp/1/publish/')).body;
  const { answer, bytes } = await download();
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('application/pdf');
  const { title, createdAt, links, pages, qr } = await readPdf(bytes);
  const at = new Date(clock.now()).toISOString();
  expect(title).toBe('Digital product passport BIKE-1');
  expect(createdAt).toBe(`D:${at.replaceAll(/\D/g, '').slice(0, 14)}Z`);
  expect(publicUrl).toBe('https://passport.example.com/01/04012345678901');
  expect([qr, ...links]).toEqual([publicUrl, publicUrl]);
  expect(pages).toEqual([
    [
      'Digital product passport BIKE-1 Page 1',
      'https://passport.example.com',
      '/01/04012345678901',
      'Scan to open the passport.',
      'DIGITAL PRODUCT PASSPORT',
      'Fahrrad',
      'SKU BIKE-1 · GTIN 04012345678901',
      'published',
      'Passport',
      'State published',
      `Published ${at.slice(0, 10)} ${at.slice(11, 16)} UTC`,
      'Digital link https://passport.example.com/01/04012345678901',
      'Product',
      'SKU BIKE-1',
      'Name Fahrrad',
      'GTIN 04012345678901',
      'Status ACTIVE',
      'Country of origin Germany (DE)',
      'Description Light.',
      'With (two) \\ wheels.',
      'Materials (2)',
      'Code Name Category Origin Recycled Hazardous',
      'ST-1 Steel Sweden (SE)',
      'AL-2 Aluminium Metal Norway (NO) 35.5 % no',
      'Cast.',
      'Composition: Aluminium (CAS 7429-90-5) 98 %, Rest 2 %',
      'Bill of materials (3)',
      'Pos. Part Name Kind Quantity',
      '0010 ST-1 Steel material 2.5 kg',
      '– BELL-1 Bell product 1',
      '0030 AL-2 Aluminium material 3 pcs per 100',
      'Mass: 0.4 kg, 7 % of the mass · Valid from 2026-01-01 to 2026-12-31',
    ],
  ]);
});

test('is the same file byte for byte as long as nothing changes, with its fonts inside', async () => {
  const { download } = await startWithPassport();
  const [first, second] = [await download(), await download()];
  expect(first.bytes.equals(second.bytes)).toBe(true);
  expect(first.bytes.toString('latin1').match(/\/FontFile2 /g)).toHaveLength(2);
});

test('leads to where the passport was published, without a GTIN and after the product has got one', async () => {
  const { call, read } = await startWithPassport({}, { publicBaseUrl: 'https://id.example.com/äö' });
  const before = await read();
  expect(before.qr).toBe('https://id.example.com/äö/passports/1');
  expect(before.links).toEqual(['https://id.example.com/%C3%A4%C3%B6/passports/1']);
  expect(before.pages.flat().join(' ')).toContain('Opens the passport once it is published.');
  const { public_url: publicUrl } = (await call('POST', '/api/dpp/1/publish/')).body;
  expect((await read()).qr).toBe(publicUrl);
  await call('POST', '/api/imports/products/', {
    body: [{ sku: 'BIKE-1', name: 'Fahrrad', country_of_origin: 'DE', gtin: '04012345678901' }],
  });
  expect((await read()).qr).toBe(publicUrl);
  await call('POST', '/api/dpp/1/unpublish/');
  const after = await read();
  expect(after.qr).toBe('https://id.example.com/äö/01/04012345678901');
  expect(after.pages.flat()).toContainEqual(expect.stringMatching(/^Unpublished \d{4}-/));
});

test.each([
  'Größe, façade, Œuvre, smørrebrød, € „“',
  'Ελληνικά: ποδήλατο',
  'Кириллица: велосипед, їжак',
  'Zażółć gęślą jaźń, łódź',
  'İstanbul ışığı, şoför, çağ',
  'Příliš žluťoučký kůň, őszi tűz, ģērbt',
  'Tiếng Việt: xe đạp',
])('writes the letters of other languages: %s', async (name) => {
  const { read } = await startWithPassport({ name });
  expect((await read()).pages.flat()).toContain(`Name ${name}`);
});

test('shows where a character has no glyph, and says so', async () => {
  const { read } = await startWithPassport({ name: 'Rad 漢字 e\u0301\u0007' });
  const lines = (await read()).pages.flat();
  expect(lines).toContain('Name Rad \u{fffd}\u{fffd} é\u{fffd}');
  expect(lines.at(-1)).toBe('\u{fffd} stands for a character that the fonts of this document cannot show.');
});

test('writes every row of a long BOM, with the head of the table on each of its pages', async () => {
  const { call, read } = await startWithPassport();
  for (let row = 0; row < 150; row += 1) {
    await call('POST', '/api/bom-items/', {
      body: { product: 1, material: 1, quantity: `${row}.5`, unit: 'мм', position: `P${row}` },
    });
  }
  const { pages } = await read();
  expect(pages.length).toBeGreaterThan(3);
  const rows = pages.flat().filter((line) => /^P\d+ /.test(line));
  expect(rows).toEqual(Array.from({ length: 150 }, (_, row) => `P${row} ST-1 Steel material ${row}.5 мм`));
  for (const [index, lines] of pages.entries()) {
    expect(lines[0]).toBe(`Digital product passport BIKE-1 Page ${index + 1}`);
    if (index > 0) expect(lines[1]).toBe('Pos. Part Name Kind Quantity');
  }
});

test('breaks long texts over lines and pages, whatever they are made of', async () => {
  const sku = `<b>&(${'S'.repeat(240)}`;
  const description = `${'word '.repeat(1500)}${'x'.repeat(2400)}`;
  const { call, read } = await startWithPassport({ sku, name: 'W'.repeat(500), description });
  await call('POST', '/api/materials/', {
    body: {
      code: 'M'.repeat(255),
      name: '\u{fdfa}'.repeat(500),
      category: 'C'.repeat(255),
      description: 'y'.repeat(10_000),
    },
  });
  await call('POST', '/api/bom-items/', {
    body: { product: 1, material: 2, quantity: '9'.repeat(30), unit: 'u'.repeat(20), position: 'p'.repeat(64) },
  });
  const { pages, title } = await read();
  expect(title).toBe(`Digital product passport ${sku}`);
  const written = pages.flat().join('\n');
  expect(written.match(/word/g)).toHaveLength(1500);
  expect(written.match(/x/g)?.length).toBeGreaterThanOrEqual(2400);
  expect(written.match(/y/g)?.length).toBeGreaterThanOrEqual(10_000);
  expect(written.match(/9/g)?.length).toBeGreaterThanOrEqual(30);
  expect(Math.max(...pages.flat().map((line) => line.length))).toBeLessThan(150);
});

test('breaks off a document as it is told to', async () => {
  const { download, sandbox } = await startWithPassport();
  const { bytes } = await download();
  sandbox.faults.add({ operation: 'passport.pdf', kind: 'truncate' });
  await expect(download()).rejects.toThrow(/terminated|closed|ECONNRESET|other side/);
  sandbox.faults.clear();
  expect((await download()).bytes.equals(bytes)).toBe(true);
});

test('answers 404 for a product without a passport', async () => {
  const { call } = await startWithPassport();
  expect(await call('GET', '/api/exports/passport/2.pdf')).toMatchObject({
    status: 404,
    body: { detail: 'The product has no passport.' },
  });
});

test.each([
  '/api/exports/passport/1',
  '/api/exports/passport/.pdf',
  '/api/exports/passport/1.PDF',
  '/api/exports/passport/1.pdf/',
])('answers the path %s with 404', async (path) => {
  const { call } = await startWithPassport();
  expect((await call('GET', path)).status).toBe(404);
});
