import { describe, expect, it } from 'vitest';
import type { ActionRow, BomNode, ItemDetail, Why } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { compareFields, comparison, fieldName, placeText, valueOf } from '../../../src/web/pages/items/comparison.ts';
import { actionsAbout, bomTree, timelineOf, whyCard } from '../../../src/web/pages/items/item-page.ts';
import { itemPath, itemsPath } from '../../../src/web/pages/links.ts';
import { publicUrl } from '../../../src/web/pages/passports/passports-pages.ts';

const text = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

const ITEM: ItemDetail = {
  id: 1,
  kind: 'product',
  key: 'P-1',
  naturalKey: 'SKU-1',
  name: 'Kettle',
  source: 'erp',
  state: 'due',
  remoteId: 7,
  missing: false,
  released: false,
  reason: null,
  dueAt: null,
  since: 0,
  missingAccepted: false,
  missingDecided: false,
  neverArrived: false,
  missingBecause: null,
  inOtherForm: [],
  desired: { sku: 'SKU-1', name: 'New name', tags: ['a'] },
  baseline: { sku: 'SKU-1', name: 'Old name', weight: '2' },
  refs: [],
  record: {
    source: 'erp',
    stream: 'products',
    place: { file: 'products.csv', line: 1234 },
    fields: { SKU: 'SKU-1', LAND: 'Atlantis' },
    quarantined: [{ code: 'country.unknown', message: 'No such country.', field: 'LAND', cure: 'Correct it.' }],
  },
  revision: 2,
  attempts: 0,
  timeline: [],
  usedBy: { rows: [], count: 0 },
  bom: null,
  heldBy: null,
  advice: { title: 'Unknown country.', meaning: 'It is none.', cure: 'Correct it.', command: null },
};

describe('the address of an item', () => {
  it('the address of an item may have keys of any characters', () => {
    expect(itemPath('product', 'A/B ?#%ü')).toBe('/items/product/A%2FB%20%3F%23%25%C3%BC');
    expect(itemPath('product', '..')).toBe('/items/product?key=..');
    expect(itemPath('product', '')).toBe('/items/product');
    expect(itemPath('product', 'x'.repeat(3000))).toMatch(/^\/items\/product\?key=x+$/);
    expect(itemsPath({ state: 'due', source: undefined, search: '' })).toBe('/items?state=due');
  });
});

describe('the sides of an item', () => {
  it('the sides of an item mark what differs between the mapped content and what the platform has acknowledged', () => {
    expect(compareFields(ITEM.desired, ITEM.baseline).map(({ field, difference }) => [field, difference])).toEqual([
      ['sku', 'same'],
      ['name', 'changed'],
      ['tags', 'added'],
      ['weight', 'removed'],
    ]);
    expect(compareFields({ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } })[0]?.difference).toBe('same');
    const { markup } = comparison(ITEM);
    expect(markup.match(/class="differs"/g)).toHaveLength(3);
    expect(text(markup)).toContain('3 of 4 fields differ.');
  });

  it('the sides of an item name the column of the file, not the field of the mapping that reads it', () => {
    const quarantined = [
      {
        code: 'country.unknown' as const,
        message: 'No such country.',
        field: 'country_of_origin',
        expression: 'country(row.LAND)',
      },
    ];
    const { markup } = comparison({ ...ITEM, record: ITEM.record && { ...ITEM.record, quarantined } });
    expect(text(markup)).toContain('products.csv, line 1,234, column LAND: No such country.');
    expect(markup).toMatch(/<tr class="fault"><th scope="row">LAND<\/th>/);
  });

  it('the sides of an item mark nothing while the platform has nothing yet', () => {
    expect(comparison({ ...ITEM, baseline: null }).markup).not.toContain('class="differs"');
  });

  it('the sides of an item name file, line and column of a fault in the source, and mark the cell', () => {
    const { markup } = comparison(ITEM);
    expect(text(markup)).toContain('products.csv, line 1,234, column LAND: No such country. Correct it.');
    expect(markup).toMatch(/<tr class="fault"><th scope="row">LAND<\/th>/);
    expect(placeText({})).toBe('unknown place');
  });

  it('the sides of an item show no more than the beginning of a long value', () => {
    expect(text(valueOf('x'.repeat(10_000)).markup)).toMatch(/^x{2000}… \(10,000 characters\)$/);
    expect(text(valueOf('').markup)).toBe('empty text');
    expect(text(valueOf({ a: ['<b>'] }).markup)).toBe('{&quot;a&quot;:[&quot;&lt;b&gt;&quot;]}');
  });
});

describe('the tree of BOM items', () => {
  const node = (key: string, more: Partial<BomNode> = {}): BomNode => ({
    bomItem: { key: `b-${key}`, state: 'delivered', quantity: '2', unit: 'KGM' },
    kind: 'product',
    key,
    naturalKey: null,
    name: null,
    state: 'delivered',
    children: [],
    cut: 0,
    cycle: false,
    ...more,
  });

  it('the tree of BOM items opens its first level, shows cuts and cycles, and links to no missing item', () => {
    const root = node('root', {
      children: [
        node('A', { children: [node('B', { children: [node('root', { cycle: true })] })], cut: 12 }),
        node('gone', { state: null }),
      ],
    });
    const { markup } = bomTree(root);
    expect(markup.match(/<details open>/g)).toHaveLength(1);
    expect(markup.match(/<details>/g)).toHaveLength(1);
    expect(text(markup)).toContain('and 12 more BOM items');
    expect(text(markup)).toContain('contains itself');
    expect(markup).not.toContain('href="/items/product/gone"');
    expect(text(bomTree(node('leaf')).markup)).toBe('The product has no BOM items.');
  });
});

describe('the timeline', () => {
  const action = (id: number, detail: ActionRow['detail'], at: number): ActionRow => ({
    id,
    at,
    who: 'anna',
    via: 'web',
    action: 'passports.change',
    detail,
    outcome: 'Done.',
  });

  it('the timeline shows who acted, with the newest first', () => {
    const entries = [
      { at: 1000, what: 'staged', operation: 'product.create' as const, revision: 1, detail: null },
      { at: 3000, what: 'in_doubt', operation: null, revision: null, detail: 'No answer.' },
    ];
    const shown = text(timelineOf(entries, [action(1, {}, 2000)]).markup);
    expect(shown).toMatch(/sent, no answer yet.*No answer\..*anna published or withdrew passports.*Done\..*staged/);
  });

  it('the timeline has the actions that name the item as a whole', () => {
    const actions = [
      action(1, { product: 'P-1' }, 1),
      action(2, { product: 'P-0, SKU-1' }, 2),
      action(3, { product: 'P-10' }, 3),
      action(4, { of: 'filter' }, 4),
      action(5, { queue: 'deliver', job: '9', delivery: 7 }, 5),
      action(6, { deliveries: '6, 7 and 12 more' }, 6),
      action(7, { job: '7', delivery: '70' }, 7),
      action(8, { deliveries: '70, 71 and 7 more' }, 8),
    ];
    const about = actionsAbout({ id: 7, key: 'P-1', naturalKey: 'SKU-1' }, actions);
    expect(about.map(({ id }) => id)).toEqual([1, 2, 5, 6]);
  });

  it('the timeline keeps the older entries behind a fold', () => {
    const entries = Array.from({ length: 60 }, (_, at) => ({
      at,
      what: 'sent',
      operation: null,
      revision: null,
      detail: null,
    }));
    expect(timelineOf(entries, []).markup).toContain('<summary>10 earlier entries</summary>');
  });
});

describe('the name of a field', () => {
  it('the name of a field may break after each `_`, and nowhere within a word', () => {
    expect(fieldName('country_of_origin').markup).toBe('country_<wbr />of_<wbr />origin');
    expect(fieldName('Herkunft <b>').markup).toBe('Herkunft &lt;b&gt;');
  });
});

describe('the answer to why', () => {
  it('the answer to why is given first, then the steps, with commands as people type them', () => {
    const why: Why = {
      key: 'P-1',
      naturalKey: null,
      name: null,
      answer: 'Its `row` <b> is bad.',
      published: false,
      steps: [
        {
          standing: 'stop',
          text: 'Run `x`.',
          command: 'dpp-sync why P-1',
          item: { kind: 'bom_item', key: 'a/b' },
          record: 3,
          advice: null,
          cause: null,
        },
      ],
    };
    const { markup } = whyCard(why, [], null);
    expect(markup).toContain('Its <code>row</code> &lt;b&gt; is bad.');
    expect(markup).toContain('href="/items/bom_item/a%2Fb"');
    expect(markup).toContain('<code>dpp-sync why P-1</code>');
    expect(markup).toContain('Why is this not published?');
    expect(markup).not.toContain('Quarantined row');
  });

  it('the answer to why links a row in quarantine to its cause', () => {
    const step = {
      standing: 'stop',
      text: 'It is wrong.',
      command: null,
      item: null,
      record: 3,
      advice: null,
      cause: null,
    } as const;
    const why = { key: 'P-1', naturalKey: null, name: null, answer: 'No.', published: false, steps: [step] };
    const record = { id: 3, source: 'erp', stream: 'products', key: 'P-1', place: {}, fields: {}, issues: [] };
    const row = { record, cause: { id: 'c0ffee', title: 'Unknown country.' }, product: 'P-1' };
    expect(whyCard(why, [row], null).markup).toContain('<a href="/attention/c0ffee">Row with an error</a>');
  });

  it('the answer to why links an item that no row gives to its cause', () => {
    const step = { standing: 'stop', text: 'No.', command: null, item: null, record: null, advice: null } as const;
    const why = { key: 'P-1', naturalKey: null, name: null, answer: 'No.', published: false };
    const { markup } = whyCard({ ...why, steps: [{ ...step, cause: 'c0ffee' }] }, [], null);
    expect(markup).toContain('href="/attention/c0ffee"');
  });
});

describe('the public address of a passport', () => {
  it('the public address of a passport has SKU and id filled in, and is left out while one of them is not known', () => {
    const template = 'https://p.example.com/{sku}?id={id}';
    expect(publicUrl(template, { sku: 'A/1 "x"', id: 7 })).toBe('https://p.example.com/A%2F1%20%22x%22?id=7');
    expect(publicUrl(template, { sku: 'A', id: null })).toBeNull();
    expect(publicUrl(null, { sku: 'A', id: 1 })).toBeNull();
  });
});
