import { fit } from './fit.ts';

/** An example, perhaps with a comment behind its command. */
const EXAMPLE = /^( *\$ .*?\S)(?: {2,}(\S.*))?$/;
const HEADING = /^\w+(?: \w+)?:$/;
const COMMENT_INDENT = ' '.repeat(6);

/**
 * A help page in lines of limited length. The words of a paragraph are wrapped again, and a comment that has no room
 * behind its example stands below it.
 */
export function helpLines(text: string, width: number): string {
  return paragraphsOf(text)
    .flatMap((line) => {
      const [, command, comment] = EXAMPLE.exec(line) ?? [];
      if (line.length <= width || command === undefined) return fit(line, width);
      // A command that people paste is not divided.
      return comment === undefined ? [command] : [command, ...fit(`${COMMENT_INDENT}${comment}`, width)];
    })
    .join('\n');
}

/** The lines of a text, where those of a paragraph are one line. A heading and what is indented stay lines of their own. */
function paragraphsOf(text: string): string[] {
  const isProse = (line: string) => /^\S/.test(line);
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const before = lines.at(-1) ?? '';
    if (isProse(line) && isProse(before) && !HEADING.test(before)) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
  }
  return lines;
}
