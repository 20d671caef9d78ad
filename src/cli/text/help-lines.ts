import { fit } from './fit.ts';

/** Matches an example, with or without a comment after its command. */
const EXAMPLE = /^( *\$ .*?\S)(?: {2,}(\S.*))?$/;
const HEADING = /^\w+(?: \w+)?:$/;
const COMMENT_INDENT = ' '.repeat(6);

/**
 * A help page in lines of limited length. The words of a paragraph are wrapped again. If a comment has no room after
 * its example, it is put below the example.
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

/** Joins the lines of each paragraph of a text to one line. Headings and indented lines stay separate lines. */
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
