/**
 * The words for one code, as plain text with commands and settings in backticks. In `cure` and `command`, `KEY`, `SKU` and
 * `SOURCE` stand for the values of the item or row; `advice.ts` puts them in.
 */
export interface Words {
  /** What happened, in a short sentence that is the same for all cases. */
  title: string;
  /** What the title does not say, in full sentences. */
  meaning?: string;
  /** What to do, in full sentences. */
  cure: string;
  /** The command that a person runs for it, or after it. */
  command?: string;
  /** The section of the documentation with the procedure. */
  guide?: string;
}
