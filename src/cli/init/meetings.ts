// Which files have the values of a column as their keys.

import { type Column, isComplete } from './columns.ts';
import type { JoinableFile } from './found-file.ts';
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
  /** A column of another file that is not its key and has the values; null if the values are keys, or nowhere. */
  elsewhere: OtherColumn | null;
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
  // A name may mean a file that has the values in another column than its key, and then files that are met have them by chance.
  const named = meantAmong(column, articles);
  const ofNamed = named === null || met.includes(named.article) ? null : otherColumnOf(column, [named.article]);
  const elsewhere = ofNamed ?? (met.length === 0 ? otherColumnOf(column, articles) : null);
  if (elsewhere !== null) {
    return { column, articles: [], found: 0, foundBare, elsewhere, meant: null, isAmbiguous: false };
  }
  const all = { column, articles: met, found, foundBare, elsewhere, meant: null };
  if (!values.some((value) => met.filter(({ keys }) => keys.has(value)).length > 1)) {
    return { ...all, isAmbiguous: false };
  }
  const meant = meantAmong(column, met);
  const foundThere = meant === null ? 0 : foundIn(column, [meant.article]);
  // The name of a column cannot mean a file that lacks many of its values, which another file has.
  if (meant === null || foundThere < found * SHARE_SURE) return { ...all, isAmbiguous: true };
  return { ...all, articles: [meant.article], found: foundThere, meant: meant.reason, isAmbiguous: false };
}

/** The file that the name of a column means, and why. */
function meantAmong(column: Column, articles: readonly Article[]): { article: Article; reason: string } | null {
  const candidates = articles.map(({ file, key }) => ({ name: file.name, key: key.label }));
  const meant = meantFile(column.label, candidates);
  const article = meant === null ? undefined : articles[meant.at];
  return meant === null || article === undefined ? null : { article, reason: meant.reason };
}

/** A column that is no key, although its values are different in all records, and that has the values of another column. */
interface OtherColumn {
  article: Article;
  column: Column;
  found: number;
}

/** The column of another file, besides its key, that has nearly all of these values. */
function otherColumnOf({ values }: Column, articles: readonly Article[]): OtherColumn | null {
  const all = articles.flatMap((article) =>
    article.file.found.columns
      .filter((column) => column !== article.key && column.isUnique && isComplete(column))
      .map((column): OtherColumn => {
        const keys = new Set(column.values);
        return { article, column, found: values.filter((value) => keys.has(value)).length };
      }),
  );
  const [best] = all.toSorted((one, other) => other.found - one.found);
  return best !== undefined && best.found >= Math.max(1, values.length * SHARE_SURE) ? best : null;
}

export function namesOf(articles: readonly Article[]): string[] {
  return [...new Set(articles.map(({ file }) => file.name))];
}

function foundIn({ values }: Column, articles: readonly Article[]): number {
  return values.filter((value) => articles.some(({ keys }) => keys.has(value))).length;
}

const bare = (text: string): string => text.replace(/^0+(?=.)/, '');
