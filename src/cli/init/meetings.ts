// Which files have the values of a column as their keys.

import type { Column } from './columns.ts';
import type { JoinableFile } from './joinable-file.ts';
import { meantFile } from './meant-file.ts';

/** A file whose records have a key of one column. */
export interface Article {
  file: JoinableFile;
  key: Column;
  keys: ReadonlySet<string>;
}

/** A column with the files whose keys it has. */
export interface Meeting {
  column: Column;
  articles: Article[];
  found: number;
  /** How many values would be keys of any file without leading zeros, which one system writes and another one leaves out. */
  foundBare: number;
  /** Why these files are meant and no others that have the values too; null if no others have them. */
  meant: string | null;
  /** True if several files have the same values, and no name shows which one is meant. */
  isAmbiguous: boolean;
}

/** With fewer values that are found, a person has to look at the join. */
export const SHARE_SURE = 0.95;
/** A file with fewer keys among the values has met them by chance. */
const SHARE_OF_FILE = 0.02;

/** The files of products and materials that have a key of one column. */
export function articlesOf(files: readonly JoinableFile[]): Article[] {
  return files.flatMap((file): Article[] => {
    const [key, ...more] = file.mapping.to === 'bom_item' ? [] : (file.key?.columns ?? []);
    return key === undefined || more.length > 0 ? [] : [{ file, key, keys: new Set(key.values) }];
  });
}

export function meetingOf(column: Column, articles: readonly Article[]): Meeting {
  const { values } = column;
  const met = articles.filter(({ keys }) => {
    const found = values.filter((value) => keys.has(value)).length;
    return found > 0 && found >= values.length * SHARE_OF_FILE;
  });
  const found = foundIn(column, met);
  const bareKeys = new Set(articles.flatMap(({ keys }) => Array.from(keys, bare)));
  const foundBare = values.filter((value) => bareKeys.has(bare(value))).length;
  const all = { column, articles: met, found, foundBare, meant: null };
  if (!values.some((value) => met.filter(({ keys }) => keys.has(value)).length > 1)) {
    return { ...all, isAmbiguous: false };
  }
  const meant = meantFile(
    column.label,
    met.map(({ file, key }) => ({ name: file.name, key: key.label })),
  );
  const article = meant === null ? undefined : met[meant.at];
  const foundThere = article === undefined ? 0 : foundIn(column, [article]);
  // The name of a column cannot mean a file that lacks many of its values, which another file has.
  if (meant === null || article === undefined || foundThere < found * SHARE_SURE) return { ...all, isAmbiguous: true };
  return { ...all, articles: [article], found: foundThere, meant: meant.reason, isAmbiguous: false };
}

function foundIn({ values }: Column, articles: readonly Article[]): number {
  return values.filter((value) => articles.some(({ keys }) => keys.has(value))).length;
}

const bare = (text: string): string => text.replace(/^0+(?=.)/, '');
