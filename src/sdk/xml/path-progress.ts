import { isMisspelt } from '../../lib/text/misspelt.ts';
import type { PathState } from './record-path.ts';

/** At most this many names of other elements are remembered and shown. */
const NAMES_MAX = 100;
const NAMES_SHOWN = 12;
const NAME_SHOWN = 60;

/** Why a document has no record although it has other elements. */
export interface NoRecords {
  /** The step of the path that was not found, and the elements in its place, in one or two sentences. */
  message: string;
  /** True if the path or the file is wrong. False if the document may be an export that has no records today. */
  isFault: boolean;
}

/** Follows how far the path of the records leads into a document, while no record was found. */
export class PathProgress {
  /** The state with the most steps so far. */
  private furthest: PathState;
  /** The other elements in the place of the next step. */
  private readonly others = new Set<string>();
  /** The first of these elements whose name is nearly the name of the step. */
  private meant: string | undefined;

  /** @param start the state before the first tag */
  constructor(start: PathState) {
    this.furthest = start;
  }

  /** Follows an open tag that is no record. */
  enter(name: string, state: PathState, parent: PathState): void {
    if (state.steps > this.furthest.steps) {
      this.furthest = state;
      this.others.clear();
      this.meant = undefined;
      return;
    }
    if (parent.steps < this.furthest.steps || this.others.size >= NAMES_MAX || this.others.has(name)) return;
    this.others.add(name);
    if (parent.next.some((step) => !step.isPattern && isMisspelt(step.name, name))) this.meant ??= name;
  }

  /** Null if the elements to which the path leads are empty: then the document has an empty list of records. */
  explain(): NoRecords | null {
    const { steps, next } = this.furthest;
    if (steps > 0 && this.others.size === 0) return null;
    const isListFound = steps > 1 || (steps === 1 && next.some((step) => step.isRecordOfParent));
    return { message: this.message(), isFault: this.meant !== undefined || !isListFound };
  }

  private message(): string {
    const { next } = this.furthest;
    const place = next[0]?.after === '' ? 'the document' : next[0]?.after;
    const missing = [...new Set(next.map(({ name }) => name))].join(' or ');
    const meant = this.meant === undefined ? '.' : `; did you mean ${this.meant.slice(0, NAME_SHOWN)}?`;
    const names = [...this.others].map((name) => name.slice(0, NAME_SHOWN));
    const more = names.length > NAMES_SHOWN ? ' and others' : '';
    return `${place} has no ${missing}${meant} It has ${names.slice(0, NAMES_SHOWN).join(', ')}${more}.`;
  }
}
