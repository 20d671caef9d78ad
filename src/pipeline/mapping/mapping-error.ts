import { fault } from '../../domain/faults.ts';
import type { IssueCode } from '../../domain/words/issues.ts';
import type { Fault } from '../../lib/errors.ts';

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

/** Puts all problems of a config into one error, which ends a command with exit code 2. */
export function mappingFault(problems: readonly MappingProblem[]): Fault {
  const lines = problems.map((problem) => {
    const expression = problem.expression === undefined ? '' : ` in \`${problem.expression}\``;
    const position = problem.position === undefined ? '' : ` at character ${problem.position}`;
    const cure = problem.cure === undefined ? '' : ` ${problem.cure}`;
    return `${problem.path}: ${problem.message}${expression === '' ? '' : ` (${expression.trim()}${position})`}${cure}`;
  });
  const first = problems[0];
  return fault('mapping.invalid', lines.join('\n'), {
    ...(first ? { path: first.path } : {}),
    ...(first?.cure === undefined ? {} : { suggestion: first.cure }),
  });
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
