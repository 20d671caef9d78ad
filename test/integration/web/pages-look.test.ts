// The pages that only show data, over a real daemon and the sandbox: their content, and that no text of a source becomes HTML.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pdfName } from '../../../src/operations/platform.ts';
import { itemPath } from '../../../src/web/pages/links.ts';
import { type ServedWorld, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { HOSTILE, ODD_KEY, serveDashboardWorld } from '../../support/worlds/dashboard-world.ts';

describe('the pages to look at', () => {
  let web: ServedWorld;
  beforeAll(async () => {
    web = await serveDashboardWorld();
  });
  afterAll(() => web.remove());

  async function page(path: string): Promise<{ status: number; markup: string; text: string }> {
    const answer = await fetch(`${web.url}${path}`, {
      headers: { authorization: `Bearer ${WEB_TOKEN}`, accept: 'text/html' },
    });
    const markup = await answer.text();
    const main = /<main[^>]*>(.*)<\/main>/s.exec(markup)?.[1] ?? '';
    const text = main
      .replaceAll('<wbr />', '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim();
    return { status: answer.status, markup, text };
  }
  async function expectAll(path: string, ...parts: readonly string[]): Promise<string> {
    const { status, text, markup } = await page(path);
    expect([path, status]).toEqual([path, 200]);
    for (const part of parts) expect(text, path).toContain(part);
    return markup;
  }

  describe('the overview', () => {
    it('the overview says how many passports are public and what stops the rest, with the causes that hold the most', async () => {
      const markup = await expectAll(
        '/',
        '0 of 8 passports public',
        '2 wait for a complete product',
        'status: &quot;RETIRED&quot; is not a valid choice.',
        '2 rows have an error and were not sent',
      );
      expect(markup).toMatch(/<a href="\/attention\/[0-9a-f]+">2 rows<\/a>/);
    });

    it('the overview shows the counts of the last run, which add up', async () => {
      const { markup } = await page('/');
      const counts = Object.fromEntries(
        [...markup.matchAll(/data-label="(read|unchanged|changed|with an error|excluded)">(?:<[^>]*>)*([\d,]+)/g)].map(
          ([, name, count]) => [name, Number(count)],
        ),
      );
      expect(counts).toEqual({ read: 18, unchanged: 0, changed: 16, 'with an error': 2, excluded: 0 });
    });

    it('the overview shows how many rows of a source are in quarantine now, beside the counts of its last run', async () => {
      const { markup } = await page('/');
      expect(markup).toContain(
        'data-label="with an error now"><a class="count" href="/attention?type=quarantine&amp;source=erp">2</a>',
      );
    });
  });

  describe('the history', () => {
    it('the history has four pictures and the last 24 hours, each with its figures as a table', async () => {
      await web.daemon.runtime.activity.end();
      const markup = await expectAll('/history', 'erp', '4 prepared, not public', '18 rows read');
      expect(markup.match(/role="img"/g)).toHaveLength(5);
      expect(markup.match(/The same figures as a table/g)).toHaveLength(5);
    });

    it('the history has the figures of the lists to which it links', async () => {
      const { markup } = await page('/history');
      const links = [...markup.matchAll(/<a class="count" href="([^"]+)">([\d,]+)</g)].map(([, href = '', count]) => {
        return [href.replaceAll('&amp;', '&'), count] as const;
      });
      expect(links.length).toBeGreaterThan(6);
      for (const [href, count] of links) {
        const { text } = await page(href);
        expect(text, href).toMatch(new RegExp(`${count} of ${count}\\b|\\b${count} (?:records|rows)\\b`));
      }
    });
  });

  it.each([
    ['/items?state=foo', 'All items'],
    ['/items?kind=foo', 'All items'],
    ['/items?run=foo', 'All items'],
    ['/runs?result=foo', 'All runs'],
    ['/attention?type=foo', 'Everything that needs attention'],
  ])('the list %s is refused because of the unknown value, with a link to the whole list', async (path, all) => {
    const { status, markup } = await page(path);
    expect(status).toBe(400);
    expect(markup).toContain('cannot have the value “foo”. Allowed is: ');
    expect(markup).toContain(`<a href="${path.split('?')[0]}">${all}</a>`);
  });

  describe('the runs', () => {
    it('the runs are listed with their result and who asked for them, and filtered by result', async () => {
      await expectAll('/runs?source=erp', 'complete', 'the schedule', '18', '16');
      await expectAll('/runs?result=failed', 'No run matches the filter.');
    });

    it('each run has a page with the counts of each stream and the items that it changed', async () => {
      const markup = await expectAll('/runs/1', 'products', 'materials', 'boms', 'all streams', '18');
      const figure = />(\d+) items<\/a> were last changed by this run/.exec(markup)?.[1] ?? '';
      await expectAll('/items?run=1', 'Only items that run 1 changed.', `${figure} items selected`, 'P-1', 'M-1');
    });

    it('the counts of runs say which rows with an error they have, with a link to all rows with an error now', async () => {
      const means =
        'The rows with an error are new or changed, and were not sent. Older ones are among the rows that have an error now';
      for (const [path, link] of [
        ['/runs', '/attention?type=quarantine'],
        ['/runs?source=erp', '/attention?type=quarantine&amp;source=erp'],
        ['/runs/1', '/attention?type=quarantine&amp;source=erp'],
      ] as const) {
        expect(await expectAll(path, means)).toContain(`<a href="${link}">rows that have an error now</a>`);
      }
    });

    it('a run that does not exist is not found', async () => {
      expect((await page('/runs/999')).status).toBe(404);
      expect((await page('/runs/1e3')).status).toBe(404);
    });
  });

  describe('the items', () => {
    it('the items are filtered by kind, state, source and search, with a total', async () => {
      await expectAll('/items?kind=material', '3 items selected', 'M-1', 'M-2', 'M-3');
      await expectAll('/items?state=waiting', '1 item selected', 'BOM item', 'P-6/10');
      await expectAll('/items?search=toast', '2 items selected', 'P-2', 'Toaster', 'Passport');
      await expectAll('/items?source=none', 'Items No item matches the filter. All items');
    });

    it('the list of items continues on the next page', async () => {
      const { markup } = await page('/items?kind=product');
      expect(markup).not.toContain('rel="next"');
    });

    it('each item has a page that shows the row, its mapped payload and the content at the platform', async () => {
      await expectAll(
        '/items/product/P-2',
        'Toaster',
        'erp /products: products.csv, line 3'.replace('erp /', 'erp/'),
        'COUNTRY',
        'country_of_origin',
        'The platform has acknowledged the same values.',
      );
      await expectAll('/items/product/P-5', 'The platform has not acknowledged this item yet.', 'RETIRED');
    });

    it('the page of an item shows the parts as a tree, its refs and the items that use it', async () => {
      const markup = await expectAll('/items/product/P-2', 'BOM items', 'Steel', 'Kettle', 'Copper');
      expect(markup).toContain('<details open><summary>');
      await expectAll('/items/material/M-1', 'Used by', 'P-1/10');
      await expectAll('/items/bom_item/P-6%2F10', 'no source gives it', 'M-404');
    });

    it('the page of an item answers why a passport is not published', async () => {
      await expectAll('/items/product/P-6', 'Why is this not published?', 'M-404');
      await expectAll('/items/product/P-5', 'Why is this not published?', 'RETIRED');
    });

    it('the items are found by keys of any characters, in the path and in the query', async () => {
      await expectAll(itemPath('product', ODD_KEY), 'Key with odd characters');
      await expectAll(`/items/product?key=${encodeURIComponent(ODD_KEY)}`, 'Key with odd characters');
      const { markup } = await page('/items?kind=product');
      expect(markup).toContain(`href="${itemPath('product', ODD_KEY)}"`);
    });

    it('the list of items names the row in quarantine that a search finds, with links to its cause and to its product', async () => {
      const markup = await expectAll(
        '/items?search=p-4',
        'Rows with an error: P-4 (products.csv:5), The country of origin is not known.',
        'No item matches the filter.',
      );
      expect(markup).toContain('<a href="/items/product/P-4">P-4</a>');
      const [, cause = ''] = /<a href="(\/attention\/[0-9a-f]+)">The country of origin/.exec(markup) ?? [];
      await expectAll(cause, 'Atlantis', 'P-4', 'P-8');
      expect((await page('/items?search=P-4&source=pim')).text).not.toContain('Rows with an error');
      expect((await page('/items?search=toast')).text).not.toContain('Rows with an error');
    });

    it('the page of an item answers why a product in quarantine is not published, with its row and its cause', async () => {
      const markup = await expectAll(
        '/items/product/P-4',
        'Why is this not published?',
        'The passport of P-4 is not published, because the row of P-4 has an error (erp/products, products.csv:5):',
        'Row with an error',
        'Lamp without a known country',
      );
      expect(markup).toMatch(/<a href="\/attention\/[0-9a-f]+">Row with an error<\/a>/);
      expect(markup).toContain('<span class="unseen">Wrong: </span>Atlantis</td>');
    });

    it('an item that the ledger does not have is not found', async () => {
      expect((await page('/items/product/NOTHING')).status).toBe(404);
      expect((await page('/items/toaster/P-1')).status).toBe(404);
      expect((await page('/items/product?key=..')).status).toBe(404);
    });
  });

  describe('the passports', () => {
    it('the passports are listed with their state and the reason why each is not published', async () => {
      const markup = await expectAll(
        '/passports',
        '4 prepared, not public',
        '2 incomplete',
        'Kettle',
        'Nobody has published the passport',
      );
      expect(markup).toContain('href="/passports?state=incomplete"');
      await expectAll('/passports?state=incomplete', '2 of 2', 'P-5', 'P-6');
    });

    it('the list of passports says that nothing matches its filter, and names the row in quarantine that it finds', async () => {
      const { text } = await page('/passports?search=P-4');
      expect(text).toContain('No passport matches the filter. All passports');
      expect(text).toContain('Rows with an error: P-4 (products.csv:5), The country of origin is not known.');
      expect(text).not.toContain('There are no passports.');
    });

    it('a passport has a PDF, and a product that the platform does not have lacks it', async () => {
      const answer = await fetch(`${web.url}/passports/P-1/pdf`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/pdf']);
      expect((await answer.text()).startsWith('%PDF')).toBe(true);
      const odd = await fetch(`${web.url}/passports/${encodeURIComponent(ODD_KEY)}/pdf`, {
        headers: { authorization: `Bearer ${WEB_TOKEN}` },
      });
      // The name of the file is that of `dpp-sync pdf`, so two SKUs never have the same.
      expect(odd.headers.get('content-disposition')).toContain(encodeURIComponent(pdfName(ODD_KEY)));
      expect((await page('/passports/P-5/pdf')).status).toBe(404);
    });
  });

  it('the pages show text of a source as text, never as markup', async () => {
    for (const path of ['/', '/items', '/passports', '/items/product/P-3', '/runs/1', '/items?search=%3Cscript%3E']) {
      const { markup } = await page(path);
      expect(markup, path).not.toContain(HOSTILE);
      expect(markup, path).not.toMatch(/<script>/);
    }
    expect((await page('/items/product/P-3')).markup).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
  });
});
