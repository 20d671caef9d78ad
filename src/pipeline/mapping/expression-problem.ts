/** Why an expression cannot be used, in words for the person who wrote it. */
export interface ExpressionProblem {
  /** A full sentence. */
  message: string;
  /** The character at which the trouble begins, from 1. */
  position?: number;
  /** What to do about it, as a full sentence. */
  cure?: string;
}
