import { expect, it } from 'vitest';
import { createSeenTexts } from '../../../src/lib/seen-texts.ts';

it('knows every text that came before, however often its table has grown', () => {
  const seen = createSeenTexts(100_000);
  const texts = Array.from({ length: 50_000 }, (_, at) => `product ${at}`);
  expect(texts.every((text) => seen(text) === 'new')).toBe(true);
  expect(texts.every((text) => seen(text) === 'before')).toBe(true);
});

it('remembers no more than its bound, and says so of further texts', () => {
  const seen = createSeenTexts(2);
  expect(['A', 'B', 'C', 'A', 'C'].map(seen)).toEqual(['new', 'new', 'unknown', 'before', 'unknown']);
});
