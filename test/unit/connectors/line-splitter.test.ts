import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLineSplitter } from '../../../src/cli/platform/publications.ts';

it('the line splitter gives the same lines however the bytes are cut, also amid a character', () => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' ').toWellFormed());
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(64)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(''));
      const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])].toSorted((a, b) => a - b);
      const linesOf = createLineSplitter();
      const given = ends.flatMap((end, index) => linesOf(bytes.subarray(ends[index - 1] ?? 0, end)));
      expect(given).toEqual(lines);
    }),
  );
});
