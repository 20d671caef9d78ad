import { z } from 'zod';
import type { Issue, Place } from '../../domain/issue.ts';
import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';
import { Encoding } from '../text-decoder.ts';
import { damagedFields, damageIssue } from '../text-values.ts';
import { isBlank } from './element.ts';

/** The options of every connector that reads XML files. */
export const XML_FILE_OPTIONS = {
  encoding: Encoding.optional().describe(
    'The encoding of the files, if they declare no encoding or a wrong one, such as `windows-1252`. A byte order mark takes precedence.',
  ),
  entities: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'The texts of entities that the files use and do not declare, such as `{ auml: ä }`. External files are never read.',
    ),
  maxRecordBytes: z
    .int()
    .min(64)
    .max(64 * 1024 * 1024)
    .default(1024 * 1024)
    .describe('The longest record that is accepted. Characters are counted.'),
};

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

/**
 * The text of an element, with or without attributes. If there are several elements, the text of the first; empty if
 * there is none.
 */
export function xmlTextOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return xmlTextOf(value[0]);
  if (!isJsonObject(value)) return '';
  const text = value['#text'];
  return typeof text === 'string' ? text : '';
}

/** The elements with a name, as a list of any length. */
export function xmlListOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === '') return [];
  return Array.isArray(value) ? value : [value];
}

/** The elements with a name that have members. */
export function xmlObjectsOf(value: JsonValue | undefined): JsonObject[] {
  return xmlListOf(value).filter((one) => isJsonObject(one));
}

/** An element's members; none if it has only text or does not exist. */
export function xmlObjectOf(value: JsonValue | undefined): JsonObject {
  return xmlObjectsOf(value)[0] ?? {};
}

const PARTIAL_FIELDS_MAX = 50;
const PARTIAL_CHARACTERS_MAX = 1_000;

/** The short fields of a broken record, by which people recognise it. */
export function partialFields(fields: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(fields).slice(0, PARTIAL_FIELDS_MAX)) {
    if (typeof value === 'string' && value.length <= PARTIAL_CHARACTERS_MAX && !isBlank(value))
      setMember(kept, name, value);
  }
  return kept;
}

export function encodingIssues(fields: JsonObject): Issue[] {
  return damagedFields(fields).map((field) =>
    damageIssue({
      field,
      message: `${field} holds text that is not valid in the encoding of the file, or was damaged before it was exported.`,
      cure: 'Set `encoding` to the real encoding of the file, or export the file again in UTF-8.',
    }),
  );
}

export function takenIssue(member: string): Issue {
  return {
    code: 'row.duplicate',
    message: `The record has an element ${member}, but \`parent\` gives the same name to a value from outside the record.`,
    field: member,
  };
}
