// The results of operations in sentences for people. The command line prints them, and the dashboard shows them.

import { counted, formatCount } from '../lib/text/counted.ts';

export interface Sentence {
  text: string;
  /** `result`: what came of the operation. `warning`: something is left for a person. */
  tone: 'result' | 'note' | 'warning';
  /** The list that has what the sentence is about. The command line names its command, and the dashboard links to it. */
  list?: 'quarantine' | 'unconfirmed' | 'incomplete';
}

/** The sentences of a list without those that do not apply. */
export function sentencesOf(...sentences: readonly (Sentence | false)[]): Sentence[] {
  return sentences.filter((sentence) => sentence !== false);
}

/** How many of the selected items an answer of a person has settled. */
export function settledText(settled: number, selected: number): string {
  return `${counted(settled, 'item')} of ${formatCount(selected)} settled.`;
}

/** Why the last run of a source failed. */
export function failedRunText({ source, error }: { source: string; error: string }): string {
  return `The last run of ${source} failed: ${error}`;
}

/**
 * Says how many deliveries an answer of a person has made due.
 *
 * @param goesOn true if a daemon sends them now
 */
export function releasedSentences(released: number, goesOn: boolean): Sentence[] {
  const [are, them] = released === 1 ? ['is', 'it'] : ['are', 'them'];
  const sends = goesOn ? `and the daemon sends ${them}` : `and \`dpp-sync sync\` sends ${them}`;
  const text = `${counted(released, 'write')} that waited for this ${are} due now, ${sends}.`;
  return sentencesOf(released > 0 && { text, tone: 'note' });
}
