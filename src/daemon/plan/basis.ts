// What a plan depends on besides the ledger: digests, by which a change is recognised and named.

import type { LookupTable } from '../../domain/lookup.ts';
import { sha256Url } from '../../lib/hash.ts';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { PlanBasis } from './plan-file.ts';
import type { Recording } from './recording.ts';
import type { Rehearsal } from './rehearsal.ts';

const digestOf = (value: unknown): string => sha256Url(canonicalJson(value as JsonValue));

/** Digests of the lookup files of a source, by source and table. */
export function lookupDigests(source: string, lookups: readonly LookupTable[]): Record<string, string> {
  return Object.fromEntries(
    lookups.flatMap(({ name, entries }) => (entries === null ? [] : [[`${source}/${name}`, digestOf([...entries])]])),
  );
}

/** Digests of what the plan depends on. */
export async function basisOf(rehearsal: Rehearsal, config: RuntimeConfig, recording: Recording): Promise<PlanBasis> {
  const used = rehearsal.mappings();
  const rules = config.sources.map(({ id, omit, guard, onMissing }) => ({ id, omit, guard, onMissing }));
  return {
    target: config.target.baseUrl,
    profile: digestOf(config.profile),
    rules: digestOf({ rules, passports: config.passports }),
    values: digestOf(await rehearsal.ledger.valuesByHand()),
    mappings: Object.fromEntries(used.map(({ source, revision }) => [source, revision])),
    lookups: Object.assign({}, ...used.map(({ source, lookups }) => lookupDigests(source, lookups))),
    contents: recording.contents(),
  };
}

/** What a plan depends on and is not as it was, in words. */
export function changesOf(was: PlanBasis, is: PlanBasis): string[] {
  const one = (name: 'target' | 'profile' | 'rules' | 'values', words: string): string[] =>
    was[name] === is[name] ? [] : [`${words} changed`];
  const many = (name: 'mappings' | 'lookups' | 'contents', words: (of: string) => string): string[] =>
    [...new Set([...Object.keys(was[name]), ...Object.keys(is[name])])]
      .filter((of) => was[name][of] !== is[name][of])
      .map((of) => `${words(of)} changed`);
  return [
    ...one('target', 'the platform has'),
    ...one('profile', 'the profile has'),
    ...one('rules', "the config's rules for sources or passports have"),
    ...one('values', 'the values of lookup tables that people have given have'),
    ...many('mappings', (source) => `the mapping of ${source} has`),
    ...many('lookups', (name) => `the lookup table ${name} has`),
    ...many('contents', (stream) => `the rows of ${stream} have`),
  ];
}
