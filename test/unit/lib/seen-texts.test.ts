import { expect, it } from 'vitest';
import { createSeenTexts, markOf } from '../../../src/lib/collections.ts';

it('knows every name that came before and its content, however often its table has grown', () => {
  const seen = createSeenTexts(100_000);
  const names = Array.from({ length: 50_000 }, (_, at) => `product ${at}`);
  for (const name of names) {
    expect(seen.look(markOf(name, `of ${name}`))).toBe('new');
    seen.add(markOf(name, `of ${name}`));
  }
  expect(names.every((name) => seen.look(markOf(name, `of ${name}`)) === 'same')).toBe(true);
  expect(names.every((name) => seen.look(markOf(name, 'other')) === 'other')).toBe(true);
});

it('keeps the content that a name had first', () => {
  const seen = createSeenTexts(10);
  seen.add(markOf('A', 'first'));
  seen.add(markOf('A', 'second'));
  expect(seen.look(markOf('A', 'first'))).toBe('same');
});

it('remembers no more than its bound, and says so of further names', () => {
  const seen = createSeenTexts(2);
  const looks = ['A', 'B', 'C', 'A', 'C'].map((name) => {
    const known = seen.look(markOf(name, ''));
    seen.add(markOf(name, ''));
    return known;
  });
  expect(looks).toEqual(['new', 'new', 'unknown', 'same', 'unknown']);
});
