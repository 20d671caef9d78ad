import type { SubjectKind } from '../../../domain/item.ts';
import type { WhyStep } from '../../../domain/ports/ledger/dashboard-views.ts';

/** A step, with the clause from which the answer is made: `its BOM item 10 is rejected: the quantity is missing`. */
export interface Step extends WhyStep {
  because: string;
  /** True if the guard holds a read. It keeps unpublished passports back, and is no reason for what the platform has. */
  isGuard?: boolean;
}

/** The optional parts of a step. */
type Rest = Partial<Pick<Step, 'command' | 'item' | 'record' | 'isGuard'>> & {
  /** What to do, in full sentences. */
  cure?: string;
};

/** @param clause the fact without a full stop, so that it can follow `because` */
export function step(standing: WhyStep['standing'], clause: string, { cure, ...rest }: Rest = {}): Step {
  const because = clause.replace(/[\s.]+$/, '');
  const said = `${because.slice(0, 1).toUpperCase()}${because.slice(1)}${/[!?…]$/.test(because) ? '' : '.'}`;
  return {
    standing,
    text: cure === undefined ? said : `${said} ${cure}`,
    command: null,
    item: null,
    record: null,
    ...rest,
    because: firstSentence(because),
  };
}

/** The item that a step is about. */
export function about(kind: SubjectKind, key: string): Pick<WhyStep, 'item'> {
  return { item: { kind, key } };
}

/** Returns the text up to the first full stop, because messages of the platform may have many sentences. */
function firstSentence(text: string): string {
  const end = /[.!?](?=\s+[A-Z])/.exec(text);
  return end === null ? text : text.slice(0, end.index);
}

/** Formats a time: `2027-01-15 02:30 UTC`. */
export function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
