import {
  type Issue,
  type JsonObject,
  type JsonValue,
  type Place,
  RAW_FIELD,
  type SourceRow,
} from '../../src/sdk/index.ts';
import { countMembers, matches, parseExactly, repeatedName } from './json-text.ts';

const DEPTH_MAX = 100;
const RAW_CHARACTERS_MAX = 1_000;

/** One element as it was cut out of a file. */
export interface Element {
  /** Its text in UTF-8; only the beginning when `tooLong`. */
  bytes: Buffer;
  tooLong: boolean;
  /** Members of all objects in it, counted in the text. */
  members: number;
  /** How deep it is nested. */
  deepest: number;
  place: Place;
}

export interface ElementRules {
  maxRecordBytes: number;
  where: JsonObject | undefined;
}

/**
 * Makes a row of an element: null when `where` passes it over. An element of which `where` cannot be told is a row with
 * its issue, so that nothing is dropped unseen.
 *
 * @throws SyntaxError when the text is not JSON; its message ends with the reason.
 */
export function elementRow(element: Element, rules: ElementRules): SourceRow | null {
  const { place } = element;
  const text = element.bytes.toString('utf8');
  if (element.tooLong) {
    return brokenRow(place, text.slice(0, RAW_CHARACTERS_MAX), {
      code: 'row.length',
      message: `The element is longer than ${rules.maxRecordBytes} bytes.`,
      cure: 'Raise `maxRecordBytes`, or point `at` to the list that holds the records.',
    });
  }
  if (element.deepest > DEPTH_MAX) {
    return brokenRow(place, text.slice(0, RAW_CHARACTERS_MAX), {
      code: 'row.depth',
      message: `The element is nested ${element.deepest} levels deep; the limit is ${DEPTH_MAX}.`,
    });
  }
  const value = parseExactly(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return brokenRow(place, text, {
      code: 'row.object',
      message: `The element is ${kindOf(value)}, but an object is expected.`,
      cure: 'Point `at` to a list of objects.',
    });
  }
  if (!matches(value, rules.where)) return null;
  if (countMembers(value) !== element.members) {
    const name = repeatedName(text);
    return {
      fields: { ...value, [RAW_FIELD]: text },
      place,
      issues: [
        {
          code: 'row.duplicate',
          message: `An object in the element has the name ${JSON.stringify(name ?? '')} more than once, so its value is not certain.`,
          ...(name === undefined ? {} : { field: name }),
        },
      ],
    };
  }
  if (text.includes('\uFFFD')) return { fields: value, place, issues: encodingIssues(value) };
  return { fields: value, place };
}

/** The row of an element that has no usable fields. */
export function brokenRow(place: Place, raw: string, issue: Issue): SourceRow {
  return { fields: { [RAW_FIELD]: raw }, place, issues: [issue] };
}

function encodingIssues(value: JsonObject): Issue[] {
  const names = Object.keys(value).filter((name) => JSON.stringify([name, value[name] ?? null]).includes('\uFFFD'));
  return names.map((name) => ({
    code: 'row.encoding',
    message: `The member ${name} holds text that is not valid UTF-8, or was damaged before it was exported.`,
    field: name,
    cure: 'Have the source system write the file anew, in UTF-8.',
  }));
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
