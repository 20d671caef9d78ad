import { InvalidArgumentError } from 'commander';
import { suggest } from '../lib/text/suggest.ts';
import type { FaultRule } from '../sandbox/faults/faults.ts';

/** A fault from the command line that was not yet checked with the sandbox's schema. */
export type FaultDraft = Record<string, string | number>;

/** Every kind of fault, with the name of its main number, which is typed directly after the kind. */
const MAIN_VALUES: Readonly<Record<FaultRule['kind'], string | null>> = {
  status: 'status',
  html: 'status',
  'reset-before': null,
  'reset-after': null,
  truncate: null,
  'slow-body': 'ms',
  duplicate: null,
  crossed: null,
  'partial-import': 'rows',
  outage: 'ms',
  latency: 'ms',
  move: null,
  shuffle: null,
  lag: 'ms',
};

/** Names whose values stay text even if they are digits. A comma ends a value. */
const TEXTS: ReadonlySet<string> = new Set(['match', 'body']);

/**
 * Parses `OPERATION:KIND[=NUMBER][,NAME=VALUE…]`: `product.create:status=500,effect=done,count=2`, `*:latency=200`,
 * `passport.publish:reset-after,probability=0.1`.
 */
export function faultFlag(text: string, before: readonly FaultDraft[] | undefined): FaultDraft[] {
  const form = 'Expected OPERATION:KIND[=NUMBER][,NAME=VALUE…], such as product.create:status=500,count=2.';
  const match = /^([a-z_.*]+):([a-z-]+)(?:=([^,]*))?(?:,(.*))?$/.exec(text);
  if (match === null) throw new InvalidArgumentError(form);
  const [, operation = '', kind = '', value, rest] = match;
  const draft: FaultDraft = { operation, kind };
  const main = mainValueOf(kind);
  if (main === undefined) {
    const likely = suggest(kind, Object.keys(MAIN_VALUES));
    const hint = likely === undefined ? '' : ` Did you mean ${likely}?`;
    const kinds = Object.keys(MAIN_VALUES).join(', ');
    throw new InvalidArgumentError(`There is no kind of fault "${kind}".${hint} The kinds are ${kinds}.`);
  }
  if (value !== undefined) {
    if (main === null) throw new InvalidArgumentError(`The kind ${kind} takes no number. ${form}`);
    draft[main] = typed(value);
  }
  for (const pair of rest === undefined ? [] : rest.split(',')) {
    const at = pair.indexOf('=');
    if (at < 1) throw new InvalidArgumentError(form);
    const name = pair.slice(0, at);
    draft[name] = TEXTS.has(name) ? pair.slice(at + 1) : typed(pair.slice(at + 1));
  }
  return [...(before ?? []), draft];
}

/** The text of a rule in the form that `faultFlag` reads. */
export function faultWords({ operation, kind, ...rest }: FaultRule): string {
  const details: Readonly<Record<string, string | number | undefined>> = rest;
  const main = MAIN_VALUES[kind];
  const others = Object.entries(details).flatMap(([name, value]) =>
    name === main || value === undefined ? [] : [`${name}=${value}`],
  );
  const value = main === null ? '' : `=${details[main] ?? ''}`;
  return [`${operation}:${kind}${value}`, ...others].join(',');
}

/** Null for a kind without a number, undefined for an unknown kind. */
function mainValueOf(kind: string): string | null | undefined {
  return Object.hasOwn(MAIN_VALUES, kind) ? MAIN_VALUES[kind as FaultRule['kind']] : undefined;
}

function typed(text: string): string | number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
