import { stripVTControlCharacters } from 'node:util';

/** The forms in which `ownCommand` names the program. */
const PROGRAM = String.raw`(?:npm run -s dpp-sync --|node (?:'[^']*launcher\.mjs'|\S*launcher\.mjs)|'[^']*/dpp-sync'|(?:\S*[^\w\s])?dpp-sync)`;
const CONFIG = String.raw`(?:-c (?:'(?:[^']|'\\'')*'|\S+) )?`;
const ARGUMENTS = String.raw`(?: (?:--?[\w-]+(?: [^\s-]+)?|[A-Z]{2,}…?|'[^']*'))*`;
/** A command that is a line by itself, or the end of a line after a colon. */
const LAST = String.raw`(?<=(?:^|: ) *(?:\u001b\[\d+m)?)${PROGRAM} [^,;]*[^,;.]$`;
/**
 * Matches a part of a line that is not divided: a word or a command. People paste commands into a shell, so a command
 * stays on one line. A command is a text between backticks, or a text that names the program.
 */
const PIECE = new RegExp(`\`[^\`]+\`|${LAST}|${PROGRAM} ${CONFIG}[a-z]+${ARGUMENTS}`, 'g');
/** Matches a label with the blanks after it, as in `  state      delivered`. */
const LABEL = /^ *\S+(?: \S+){0,3} {2,}(?=\S)/;
/** Matches the mark of a list entry. The further lines of the entry are indented to its text. */
const MARKED = /^ *(?:error:|warning:|[-✓✗!…→] )/;
const KEPT_SPACE = '\u00a0';

/**
 * Divides a line into lines of limited length, between words. The further lines begin below the first word, or below
 * the text after a label. A word that is too long has a separate line.
 */
export function fit(line: string, width: number): string[] {
  if (visible(line).length <= width) return [line];
  const plain = visible(line);
  const label = LABEL.exec(plain)?.[0].length ?? 0;
  const own = plain.length - plain.trimStart().length;
  const indent = ' '.repeat(
    label > 0 && label <= width / 2 ? label : Math.min(own + (MARKED.test(plain) ? 2 : 0), width / 4),
  );
  const start = line.length - line.trimStart().length;
  const head = line.slice(0, start);
  const lines: string[] = [];
  let current = head;
  let isEmpty = true;
  for (const word of line
    .slice(start)
    .replaceAll(PIECE, (piece) => piece.replaceAll(' ', KEPT_SPACE))
    .split(' ')) {
    if (!isEmpty && visible(`${current} ${word}`).trimEnd().length > width) {
      lines.push(current.trimEnd());
      current = `${indent}${word}`;
    } else current = isEmpty ? `${current}${word}` : `${current} ${word}`;
    isEmpty = false;
  }
  return [...lines, current].map((one) => one.replaceAll(KEPT_SPACE, ' '));
}

function visible(text: string): string {
  return stripVTControlCharacters(text);
}

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
