import type { ConfigProblem } from '../problem.ts';

/** How `init` marks a line that a person has to check: in its comment, or in the comment above it. */
const MARK = /(?:^|\s)# TODO\s/;
const SHOWN = 12;

/** A warning about the lines of a config that `init` has marked for a person; null if there are none. */
export function todoWarning(text: string): ConfigProblem | null {
  const lines = text.split('\n').flatMap((line, index) => (MARK.test(`${line}\n`) ? [index + 1] : []));
  const [first] = lines;
  if (first === undefined) return null;
  if (lines.length === 1) return { path: '', line: first, message: 'The line has a TODO.', cure: CURE };
  const shown = lines.length > SHOWN ? [...lines.slice(0, SHOWN), '…'] : lines;
  return { path: '', line: null, message: `${lines.length} lines have a TODO: ${shown.join(', ')}.`, cure: CURE };
}

const CURE = 'Correct or keep each such line, and delete the word TODO.';
