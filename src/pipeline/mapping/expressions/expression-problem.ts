/** Why an expression cannot be used, for the person who has written it. */
export interface ExpressionProblem {
  /** A full sentence. */
  message: string;
  /** The character at which the problem begins, from 1. */
  position?: number;
  /** What to do about the problem, as a full sentence. */
  cure?: string;
}
