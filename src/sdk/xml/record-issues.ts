import type { Issue } from '../../domain/issue.ts';
import { type JsonObject, setMember } from '../../lib/json.ts';
import { damagedFields, damageIssue } from '../text-issues.ts';
import { isBlank } from './element.ts';

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
    cure: 'In `parent`, choose another name for the value from outside the record.',
  };
}
