import { expect, it } from 'vitest';
import { shownStreams } from '../../../src/cli/text/progress.ts';

const streams = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    source: `s${at}`,
    stream: 'default',
    read: 1000,
    done: null,
    total: null,
  }));

it('a sync of many sources shows the last streams that were read one by one, and the others together', () => {
  expect(shownStreams(streams(6))).toEqual({ others: null, last: streams(6) });
  const { others, last } = shownStreams(streams(60));
  expect(others).toBe('54 other streams 54,000 rows');
  expect(last.map(({ source }) => source)).toEqual(['s54', 's55', 's56', 's57', 's58', 's59']);
});
