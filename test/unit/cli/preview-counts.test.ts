import { expect, it } from 'vitest';
import { createPreviewCounter, type PreviewedRecord } from '../../../src/daemon/preview/preview.ts';
import type { ForeignCode, Issue } from '../../../src/domain/issue.ts';
import type { Item, ItemKind } from '../../../src/domain/item.ts';

function quarantined(line: number, ...codes: string[]): PreviewedRecord {
  const issues = codes.map(
    (code): Issue => ({ code: code as ForeignCode, field: 'name', message: `${code} at ${line}` }),
  );
  return { place: { line }, key: String(line), fields: {}, status: 'quarantined', items: [], issues };
}

function making(...names: `${ItemKind} ${string}`[]): PreviewedRecord {
  const items = names.map((name) => {
    const [kind, key] = name.split(' ') as [ItemKind, string];
    return { kind, key, payload: {}, refs: [] };
  });
  return { place: { line: 1 }, key: null, fields: {}, status: 'mapped', items, issues: [] };
}

it('counts a record once for each kind of issue, with the first one as the example', () => {
  const counter = createPreviewCounter();
  counter.add(quarantined(1, 'a', 'b', 'b'));
  counter.add(quarantined(2, 'b'));
  expect(counter.counts()).toMatchObject({
    records: 2,
    quarantined: 2,
    issues: [
      { code: 'b', field: 'name', records: 2, example: { place: { line: 1 }, message: 'b at 1' } },
      { code: 'a', records: 1 },
    ],
    otherIssues: 0,
  });
});

it('counts each item once, by kind and key, and the records that repeat one', () => {
  const counter = createPreviewCounter();
  counter.add(making('product L1', 'material Steel', 'bom_item L1'));
  counter.add(making('product L2', 'material Steel', 'bom_item L2'));
  counter.add(making('product L2', 'material Steel', 'bom_item L2'));
  counter.add(making('product Steel'));
  expect(counter.counts()).toMatchObject({
    records: 4,
    items: { product: 3, material: 1, bom_item: 2 },
    repeating: 2,
    whole: 1,
    conflicting: 0,
    conflict: null,
    uncompared: 0,
  });
});

it('counts separately a record that makes the item of an earlier one with other values, and none of its items', () => {
  const counter = createPreviewCounter();
  counter.add(making('product L1'));
  const other = making('material Oak');
  const lamp: Item = { kind: 'product', key: 'L1', payload: { name: 'Lamp' }, refs: [] };
  counter.add({ ...other, place: { line: 7 }, items: [...other.items, lamp] });
  expect(counter.counts()).toMatchObject({
    items: { product: 1, material: 0 },
    repeating: 0,
    conflicting: 1,
    conflict: { place: { line: 7 }, kind: 'product', key: 'L1' },
  });
});

it('compares with a bounded number of items, and says how many are not compared', () => {
  const counter = createPreviewCounter(2);
  for (const key of ['A', 'B', 'C', 'B', 'C']) counter.add(making(`product ${key}`));
  expect(counter.counts()).toMatchObject({ items: { product: 4 }, repeating: 1, uncompared: 2 });
});

it('keeps a bounded number of kinds, and counts the issues of all others', () => {
  const counter = createPreviewCounter();
  for (let line = 0; line < 1_500; line += 1) counter.add(quarantined(line, `module.code-${line}`));
  const { issues, otherIssues, quarantined: records } = counter.counts();
  expect({ kinds: issues.length, otherIssues, records }).toEqual({ kinds: 1_000, otherIssues: 500, records: 1_500 });
});
