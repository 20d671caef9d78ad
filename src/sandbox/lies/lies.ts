import { IMPORT_LIES } from './import-lies.ts';
import type { Lie, LieParts, Operations } from './lie.ts';
import { PASSPORT_LIES } from './passport-lies.ts';
import { ANSWER_LIES, type AnswerLieName, FIELD_LIES, type FieldLieName, MAKING_LIES } from './write-lies.ts';

export type LieName =
  | keyof typeof IMPORT_LIES
  | keyof typeof PASSPORT_LIES
  | keyof typeof MAKING_LIES
  | AnswerLieName
  | FieldLieName;

/** Every lie of the sandbox, by the name of its operation and its own name. */
export const LIES: Readonly<Record<LieName, Lie>> = {
  ...IMPORT_LIES,
  ...ANSWER_LIES,
  ...MAKING_LIES,
  ...PASSPORT_LIES,
  ...FIELD_LIES,
};

export const LIE_NAMES = Object.keys(LIES) as LieName[];

/** Returns the operations with some lies. A later lie distorts the answers of the lies before it. */
export function withLies(honest: Operations, names: readonly LieName[], parts: LieParts): Operations {
  let operations = { ...honest };
  for (const name of names) operations = { ...operations, ...LIES[name].tell(operations, parts) };
  return operations;
}
