import { describe, expect, it } from 'vitest';
import { createRowGatherer } from '../../../connectors/sql/dialect.ts';

describe('the rows of an answer', () => {
  it('the rows of an answer are kept up to a size, two in any case, and later rows are not read', () => {
    const gatherer = createRowGatherer(10);
    for (const text of ['x'.repeat(20), 'y']) gatherer.add(() => [text]);
    gatherer.add(() => expect.fail('a dropped row was read'));
    expect(gatherer.found()).toEqual({ rows: [['x'.repeat(20)], ['y']], isCut: true });
  });

  it('the rows of an answer fail as a whole where one cannot be read, and not in the event of the driver', () => {
    const gatherer = createRowGatherer();
    gatherer.add(() => ['a']);
    gatherer.add(() => {
      throw new Error('Cannot create a string longer than 0x1fffffe8 characters');
    });
    expect(() => gatherer.found()).toThrow('Cannot create a string');
  });
});
