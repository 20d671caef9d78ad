import { describe, expect, it } from 'vitest';
import { meantFile } from '../../../src/cli/init/meant-file.ts';

/** Each file as `name:key`. */
const meant = (column: string, ...files: string[]) => {
  const candidates = files.map((file) => {
    const [name = '', key = ''] = file.split(':');
    return { name, key };
  });
  return candidates[meantFile(column, candidates)?.at ?? -1]?.name ?? null;
};

describe('the file that a column means', () => {
  it.each([
    ['Materialnummer', 'artikel.csv:Artikelnummer', 'x.csv:Materialnummer', 'x.csv'],
    ['MaterialNr', 'artikel.csv:Nr', 'x.csv:Materialnummer', 'x.csv'],
    ['artikelnr', 'material:id', 'artikel:id', 'artikel'],
    ['category_id', 'articles:id', 'categories:id', 'categories'],
    ['parentProductId', 'materials.csv:id', 'products.csv:id', 'products.csv'],
    ['Komponenten-Nr.', 'a.xlsx:Nr', 'components.xlsx:Nr', 'components.xlsx'],
    ['article_id', 'material.csv.gz:id', 'artikel.csv.gz:id', 'artikel.csv.gz'],
    ['artikel_id', '2026-01_artikel_export.csv:id', 'material.csv:id', '2026-01_artikel_export.csv'],
    // The key counts before the name of the file.
    ['Artikelnummer', 'artikel.csv:Nummer', 'teile.csv:Artikelnummer', 'teile.csv'],
  ])('%s of %s and %s is %s', (column, one, other, expected) => {
    expect(meant(column, one, other)).toBe(expected);
    expect(meant(column, other, one)).toBe(expected);
  });

  it.each([
    // Each key may be called so.
    ['id', 'a.csv:id', 'b.csv:nr'],
    ['Nummer', 'a.csv:Nummer', 'b.csv:Nr'],
    ['x', 'x.csv:id', 'y.csv:id'],
    ['product_id', 'project.csv:id', 'part.csv:id'],
    ['Artikelnummer', 'artikel.csv:Artikelnummer', 'preise.csv:Artikelnummer'],
  ])('%s of %s and %s is not known', (column, one, other) => {
    expect(meant(column, one, other)).toBeNull();
  });
});
