import { expect, it } from 'vitest';
import { createSeenTexts } from '../../../src/lib/seen-texts.ts';

it('the seen texts include every text that came before, however often their table has grown', () => {
  const seen = createSeenTexts(100_000);
  const texts = Array.from({ length: 50_000 }, (_, at) => `product ${at}`);
  expect(texts.every((text) => seen(text) === 'new')).toBe(true);
  expect(texts.every((text) => seen(text) === 'before')).toBe(true);
});

it('the seen texts are no more than their bound, and further texts are reported as not remembered', () => {
  const seen = createSeenTexts(2);
  expect(['A', 'B', 'C', 'A', 'C'].map(seen)).toEqual(['new', 'new', 'unknown', 'before', 'unknown']);
});
