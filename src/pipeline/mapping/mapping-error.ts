import type { IssueCode } from '../../domain/words/issues.ts';

/** Why a value could not be mapped. The error becomes an issue of the row and is never thrown out of `map`. */
export class MappingError extends Error {
  /** The issue's code, such as `country.unknown`. */
  readonly code: IssueCode;
  /** What to do about the error, as a full sentence. */
  readonly cure: string | undefined;

  constructor(code: IssueCode, message: string, cure?: string) {
    super(message);
    this.name = 'MappingError';
    this.code = code;
    this.cure = cure;
  }
}

/** A problem of a mapping that is found before any row is read. */
export interface MappingProblem {
  /** The place in the config, such as `sources[0].mappings[1].fields.quantity`. */
  path: string;
  /** A full sentence. */
  message: string;
  expression?: string;
  /** The character of the expression at which the problem begins, from 1. */
  position?: number;
  /** What to do about the problem, as a full sentence. */
  cure?: string;
}

/** The message of a problem with its expression, for people, without a full stop at the end. */
export function describeProblem({ message, expression, position }: MappingProblem): string {
  const at = position === undefined ? '' : ` at character ${position}`;
  return expression === undefined ? message : `${message.replace(/\.$/, '')} (in \`${expression.trim()}\`${at})`;
}

/** Why an expression cannot be used, for the person who has written it. */
export interface ExpressionProblem {
  /** A full sentence. */
  message: string;
  /** The character at which the problem begins, from 1. */
  position?: number;
  /** What to do about the problem, as a full sentence. */
  cure?: string;
}
