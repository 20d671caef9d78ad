import { expect, it } from 'vitest';
import { fieldLines } from '../../../src/cli/text/attention.ts';

it('the values of a record stand below each other, however long the names are, and empty ones are left out', () => {
  const fields = {
    SKU: 'A-1',
    'Origen del material': 'Portugal',
    GTIN: '',
    'Peso neto del producto sin embalaje': '4,2',
  };
  expect(fieldLines(fields, 80)).toEqual([
    'SKU                       A-1',
    'Origen del material       Portugal',
    'Peso neto de…in embalaje  4,2',
  ]);
});
