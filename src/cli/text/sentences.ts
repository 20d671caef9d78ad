import type { Sentence } from '../../operations/sentences.ts';
import { printable } from './style.ts';

/** The commands that show the lists. */
const COMMANDS: Record<NonNullable<Sentence['list']>, string> = {
  quarantine: 'dpp-sync quarantine',
  unconfirmed: 'dpp-sync items --state in_doubt',
  incomplete: 'dpp-sync items --state incomplete',
};

/** The sentences about a result, one a line, each with the command that shows more about it. */
export function sentenceLines(sentences: readonly Sentence[]): string[] {
  return sentences.flatMap(({ text, list }) => [
    printable(text),
    ...(list === undefined ? [] : [`  ${COMMANDS[list]}`]),
  ]);
}
