import { request } from 'undici';
import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { readPdf } from '../../support/browser/read-pdf.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

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

test('a PDF shows its product, materials, BOM, state and the QR code of its GS1 Digital Link', async () => {
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
      'Digital product passport BIKE-1',
      'Fahrrad',
      'SKU: BIKE-1',
      'GTIN: 04012345678901',
      'Name: Fahrrad',
      'Product status: ACTIVE',
      'Country of origin: Germany (DE)',
      'Description: Light. With (two) \\ wheels.',
      'Passport: published',
      `Published: ${at.slice(0, 10)} ${at.slice(11, 16)} UTC`,
      'Address: https://passport.example.com/01/04012345678901',
      'Materials (2)',
      'ST-1 · Steel · Sweden (SE)',
      'AL-2 · Aluminium · Metal · Norway (NO) · 35.5 % recycled · not hazardous · Aluminium 98 % · Rest 2 %',
      'Bill of materials (3)',
      '0010 · ST-1 · Steel · 2.5 kg',
      'BELL-1 · Bell · 1',
      '0030 · AL-2 · Aluminium · 3 pcs per 100 · 0.4 kg',
    ],
  ]);
});

test('shows a material whose code is its name once', async () => {
  const { call, read } = await startWithPassport();
  await call('POST', '/api/materials/', { body: { code: 'Aluminio', name: 'Aluminio', origin_country: 'PT' } });
  await call('POST', '/api/bom-items/', { body: { product: 1, material: 2, quantity: '1', unit: 'kg' } });
  const text = (await read()).pages.flat().join('\n');
  expect(text).toContain('Aluminio · Portugal (PT)');
  expect(text).toContain('Aluminio · 1 kg');
  expect(text).not.toContain('Aluminio · Aluminio');
  expect(text).toContain('ST-1 · Steel');
});

test('a PDF is the same byte for byte as long as nothing changes, with its font inside', async () => {
  const { download } = await startWithPassport();
  const [first, second] = [await download(), await download()];
  expect(first.bytes.equals(second.bytes)).toBe(true);
  expect(first.bytes.toString('latin1').match(/\/FontFile2 /g)).toHaveLength(1);
});

test('the code of a PDF leads to where the passport was published, without a GTIN and after the product has got one', async () => {
  const { call, read } = await startWithPassport({}, { publicBaseUrl: 'https://id.example.com/äö' });
  const before = await read();
  expect(before.qr).toBe('https://id.example.com/äö/passports/1');
  expect(before.links).toEqual(['https://id.example.com/%C3%A4%C3%B6/passports/1']);
  const { public_url: publicUrl } = (await call('POST', '/api/dpp/1/publish/')).body;
  expect((await read()).qr).toBe(publicUrl);
  await call('POST', '/api/imports/products/', {
    body: [{ sku: 'BIKE-1', name: 'Fahrrad', country_of_origin: 'DE', gtin: '04012345678901' }],
  });
  expect((await read()).qr).toBe(publicUrl);
  await call('POST', '/api/dpp/1/unpublish/');
  const after = await read();
  expect(after.qr).toBe('https://id.example.com/äö/01/04012345678901');
  expect(after.pages.flat()).toContainEqual(expect.stringMatching(/^Unpublished: \d{4}-/));
});

test.each([
  'Größe, façade, Œuvre, smørrebrød, € „“',
  'Ελληνικά: ποδήλατο',
  'Кириллица: велосипед, їжак',
  'Zażółć gęślą jaźń, łódź',
  'İstanbul ışığı, şoför, çağ',
  'Příliš žluťoučký kůň, őszi tűz, ģērbt',
  'Tiếng Việt: xe đạp',
])('a PDF has the letters of other languages: %s', async (name) => {
  const { read } = await startWithPassport({ name });
  expect((await read()).pages.flat()).toContain(`Name: ${name}`);
});

test('a PDF is broken off where a fault says so', async () => {
  const { download, sandbox } = await startWithPassport();
  const { bytes } = await download();
  sandbox.faults.add({ operation: 'passport.pdf', kind: 'truncate' });
  await expect(download()).rejects.toThrow(/terminated|closed|ECONNRESET|other side/);
  sandbox.faults.clear();
  expect((await download()).bytes.equals(bytes)).toBe(true);
});

test('the sandbox answers 404 for the PDF of a product without a passport', async () => {
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
])('the path %s of a PDF gets 404', async (path) => {
  const { call } = await startWithPassport();
  expect((await call('GET', path)).status).toBe(404);
});
