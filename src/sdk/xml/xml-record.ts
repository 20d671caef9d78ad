import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { JsonObject } from '../../lib/json.ts';

/** The options that decide which elements of a document are records, and how they become values. */
export interface XmlRecordOptions {
  /** The path of the records, for which `isRecordPath` is true: `/BMECAT/T_NEW_CATALOG/ARTICLE`, `//ARTICLE | //PRODUCT`. */
  at: string;
  /** The root elements that the document may have; by default any. */
  roots?: readonly string[];
  /** Whether `g:name` becomes `name` (the default) or keeps its prefix. */
  prefixes?: 'strip' | 'keep' | undefined;
  /** Elements that become a list, even if a record has only one of them. */
  lists?: readonly string[] | undefined;
  /** Elements that become an object, even if they contain only text. */
  objects?: readonly string[] | undefined;
  /** Languages in order of preference. Without them, elements in several languages are lists. */
  language?: readonly string[] | undefined;
  /** Attributes that name the language besides `lang` and `xml:lang`. */
  languageAttributes?: readonly string[] | undefined;
  /** Whether white space around text is removed; default false. */
  trim?: boolean | undefined;
  /** The encoding, if the file declares a wrong one or none. */
  encoding?: string | undefined;
  /** Texts of entities that the file does not declare. */
  entities?: Readonly<Record<string, string>> | undefined;
  /** The longest record in characters; the default is 1 MiB. */
  maxRecordBytes?: number | undefined;
  /**
   * Values from outside the record, by their names in the row; `isValuePath` is true for `../ID`, `/BMECAT/@version`.
   */
  parent?: Readonly<Record<string, string>> | undefined;
  /** Called with the path of the root element and of each of its children when they begin. It may refuse the document. */
  onOutline?: ((path: string) => void) | undefined;
  /**
   * Called at the end of a document in which no element is a record, if other elements are in the place of the records.
   * The message names the missing step of the path and these elements. It is not called if the list of records is empty.
   */
  onNoRecords?: ((message: string) => void) | undefined;
}

/** One element of a document. */
export interface XmlRecord {
  name: string;
  fields: JsonObject;
  place: Place;
  /** The number of characters of the record in the file. */
  length: number;
  issues?: Issue[];
}
