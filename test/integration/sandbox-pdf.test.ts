import { request } from 'undici';
import { expect, test } from 'vitest';
import { readPdf } from '../support/pdf-text.ts';
import { startSandbox } from '../support/sandbox-caller.ts';

async function startWithPassport(product: object = {}) {
  const running = await startSandbox();
  const { call, baseUrl, key } = running;
  await call('POST', '/api/products/', { body: { sku: 'BIKE-1', name: 'Fahrrad', ...product } });
  await call('POST', '/api/products/', { body: { sku: 'BELL-1', name: 'Bell' } });
  await call('POST', '/api/materials/', { body: { code: 'ST-1', name: 'Steel', origin_country: 'SE' } });
  await call('POST', '/api/bom-items/', {
    body: { product: 1, material: 1, quantity: '2.5', unit: 'kg', position: '0010' },
  });
  await call('POST', '/api/bom-items/', { body: { product: 1, component: 2, quantity: 1 } });
  const download = async (id = 1) => {
    const answer = await request(`${baseUrl}/api/exports/passport/${id}.pdf`, { headers: { 'x-api-key': key } });
    return { answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };
  return { ...running, download };
}

test('exports a passport with its product, BOM, materials and digital link', async () => {
  const { call, download } = await startWithPassport({ gtin: '04012345678901', country_of_origin: 'DE' });
  await call('POST', '/api/dpp/1/init/');
  const { answer, bytes } = await download();
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('application/pdf');
  const { pages, links, title } = readPdf(bytes);
  expect(title).toBe('Digital product passport BIKE-1');
  expect(links).toEqual(['https://passport.example.com/01/04012345678901']);
  expect(pages).toEqual([
    [
      'Digital product passport BIKE-1',
      'Status: initialized',
      'Digital link: https://passport.example.com/01/04012345678901',
      'Product',
      'sku: BIKE-1',
      'name: Fahrrad',
      'gtin: 04012345678901',
      'country_of_origin: DE',
      'Bill of materials (2)',
      '0010 ST-1 Steel 2.5 kg',
      '– BELL-1 Bell 1',
      'Materials (1)',
      'code: ST-1',
      'name: Steel',
      'origin_country: SE',
    ],
  ]);
});

test('writes what its letters can write, and breaks long texts over lines and pages', async () => {
  const description = `(Größe) \\ 5 € – 漢字 ${'word '.repeat(1900)}${'x'.repeat(300)}`;
  const { call, download } = await startWithPassport({ description });
  await call('POST', '/api/dpp/1/init/');
  const { pages } = readPdf((await download()).bytes);
  expect(pages.length).toBeGreaterThan(1);
  const lines = pages.flat();
  expect(lines).toContainEqual(expect.stringContaining('description: (Größe) \\ 5 € – ??'));
  const written = lines.join(' ');
  expect(written.match(/word/g)).toHaveLength(1900);
  expect(written.match(/x/g)?.length).toBeGreaterThanOrEqual(300);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(100);
});

test('answers 404 for a product without a passport', async () => {
  const { call } = await startWithPassport();
  expect(await call('GET', '/api/exports/passport/1.pdf')).toMatchObject({
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
  await call('POST', '/api/dpp/1/init/');
  expect((await call('GET', path)).status).toBe(404);
});
