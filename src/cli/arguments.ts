// Parsers of option values. The command line reports their errors as bad usage, with the name of the option.

import { InvalidArgumentError } from 'commander';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';

/** A whole number within limits. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`Expected a whole number ${range}.`);
  };
}

/** A number of seconds, of 0 or more. */
export function seconds(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value <= 1_000_000) return value;
  throw new InvalidArgumentError('Expected a number of seconds.');
}

/** Reads a kind: `product`, `material`, `bom_item` or `passport`. `bom-item` and plurals are accepted too. */
export function subjectKind(text: string): SubjectKind {
  const name = text.toLowerCase().replaceAll('-', '_').replace(/s$/, '');
  const kind = SUBJECT_KINDS.find((one) => one === name);
  if (kind !== undefined) return kind;
  throw new InvalidArgumentError(`Expected one of ${SUBJECT_KINDS.join(', ')}.`);
}

/** Adds a value of an option that may be given several times. */
export function collect<T>(value: T, before: readonly T[] | undefined): T[] {
  return [...(before ?? []), value];
}
