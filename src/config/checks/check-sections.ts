// The rules of sections of a config that their schemas cannot express.

import { ITEM_FIELDS, ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import { allowedFieldsOf, type Profile } from '../../domain/profile.ts';
import { isJsonObject } from '../../lib/json.ts';
import { isLoopback } from '../../lib/loopback.ts';
import { streamNamesOf } from '../connectors.ts';
import type { PathSegment } from '../problem.ts';
import type { Findings } from './findings.ts';

/**
 * Checks the references of a config's sources to each other and to the profile.
 *
 * @param settingsOf checks the settings that the connector of a source knows; undefined if there is a problem
 * @returns the settings in the order of the sources
 */
export function checkSources<Settings>(
  value: unknown,
  context: { profile: Profile | undefined; findings: Findings; mayLackMappings: boolean },
  settingsOf: (source: Record<string, unknown>, path: readonly PathSegment[]) => Settings | undefined,
): (Settings | undefined)[] {
  const { findings } = context;
  const sources = sourcesIn(value);
  const places = new Map<unknown, string>();
  const lookedUp = lookedUpStreams(sources);
  return sources.map((source, index) => {
    if (!isJsonObject(source)) return undefined;
    const path = ['sources', index];
    const { id } = source;
    const first = places.get(id);
    if (first !== undefined) {
      findings.addMismatch([...path, 'id'], `an id of its own, because ${first} has this id`);
    } else if (typeof id === 'string') places.set(id, `sources[${index}]`);
    const settings = settingsOf(source, path);
    checkMappings(source, path, { ...context, lookedUp: lookedUp.get(id) ?? new Set() });
    checkLookups(source, path, { sources, findings });
    return settings;
  });
}

/** The sources of a config, as far as they are known. */
export function sourcesIn(value: unknown): unknown[] {
  return isJsonObject(value) && Array.isArray(value['sources']) ? (value['sources'] as unknown[]) : [];
}

function checkMappings(
  source: Record<string, unknown>,
  path: readonly PathSegment[],
  context: {
    profile: Profile | undefined;
    findings: Findings;
    mayLackMappings: boolean;
    lookedUp: ReadonlySet<unknown>;
  },
): void {
  const streams = streamNamesOf(source);
  const mappings = Array.isArray(source['mappings']) ? (source['mappings'] as unknown[]) : [];
  const { lookedUp } = context;
  const mapped = new Set<unknown>(lookedUp);
  for (const [index, mapping] of mappings.entries()) {
    if (!isJsonObject(mapping)) continue;
    mapped.add(mapping['stream'] ?? 'default');
    checkMapping(mapping, [...path, 'mappings', index], { streams, ...context });
  }
  if (mappings.length === 0) {
    if (lookedUp.size === 0 && !context.mayLackMappings) {
      context.findings.addMismatch(
        [...path, 'mappings'],
        'at least one mapping, because no other source uses this source as a lookup table',
      );
    }
    return;
  }
  for (const name of (streams ?? []).filter((stream) => !mapped.has(stream))) {
    const message = `no mapping uses the stream ${name}, so its records are not used`;
    context.findings.addWarning([...path, 'streams', name], message, 'Add a mapping for it, or remove it.');
  }
}

/** The streams that lookup tables name, by the ids of their sources. */
function lookedUpStreams(sources: readonly unknown[]): Map<unknown, Set<unknown>> {
  const streams = new Map<unknown, Set<unknown>>();
  for (const source of sources) {
    if (!isJsonObject(source)) continue;
    for (const [, lookup] of lookupsOf(source)) {
      if (lookup['stream'] === undefined) continue;
      const of = lookup['source'] ?? source['id'];
      streams.set(of, (streams.get(of) ?? new Set()).add(lookup['stream']));
    }
  }
  return streams;
}

function lookupsOf(source: Record<string, unknown>): [string, Record<string, unknown>][] {
  const { lookups } = source;
  if (!isJsonObject(lookups)) return [];
  return Object.entries(lookups).flatMap(([name, lookup]) => (isJsonObject(lookup) ? [[name, lookup]] : []));
}

/** Checks that the rows of each lookup table come from an existing stream or from a file. */
function checkLookups(
  source: Record<string, unknown>,
  path: readonly PathSegment[],
  { sources, findings }: { sources: readonly unknown[]; findings: Findings },
): void {
  for (const [name, lookup] of lookupsOf(source)) {
    const { stream, file, source: id = source['id'] } = lookup;
    const at = [...path, 'lookups', name];
    if ((stream === undefined) === (file === undefined)) {
      findings.addMismatch(at, 'either a stream or a file');
      continue;
    }
    if (typeof stream !== 'string') continue;
    const of = sources.find((one) => isJsonObject(one) && one['id'] === id);
    if (!isJsonObject(of)) {
      const ids = sources.flatMap((one) => (isJsonObject(one) && typeof one['id'] === 'string' ? [one['id']] : []));
      findings.addUnknownName([...at, 'source'], 'a source of this config', ids);
      continue;
    }
    checkOmitted(lookup, of, at, findings);
    const streams = streamNamesOf(of);
    if (streams?.includes(stream) === false)
      findings.addUnknownName([...at, 'stream'], `a stream of the source ${String(id)}`, streams);
  }
}

/** Reports lookups of columns that are never stored, because they would find nothing. */
function checkOmitted(
  lookup: Record<string, unknown>,
  { omit }: Record<string, unknown>,
  at: readonly PathSegment[],
  findings: Findings,
): void {
  if (!Array.isArray(omit)) return;
  for (const member of ['key', 'value'] as const) {
    const column = [lookup[member]].flat().find((name) => omit.includes(name));
    if (typeof column !== 'string') continue;
    findings.addMismatch([...at, member], `columns that are stored; the source has ${column} in its \`omit\``);
  }
}

const DECLARED = ['to', 'each', 'key', 'refs', 'fields'] as const;
const PART_ROLES = ['material', 'component', 'part'] as const;

/**
 * The rules for a mapping that go beyond single values. It uses the unchecked values of the file, because it also runs
 * if other parts of the config are wrong.
 */
function checkMapping(
  mapping: Record<string, unknown>,
  path: readonly PathSegment[],
  context: { streams: readonly string[] | null; profile: Profile | undefined; findings: Findings },
): void {
  const { streams, profile, findings } = context;
  const { stream, module, to, refs, fields, rules } = mapping;
  if (stream === undefined && streams?.includes('default') === false) {
    findings.addMismatch([...path, 'stream'], `the name of a stream: ${streams.join(', ')}`);
  } else if (typeof stream === 'string' && streams?.includes(stream) === false) {
    findings.addUnknownName([...path, 'stream'], 'a stream of this source', streams);
  }
  if (profile !== undefined && isJsonObject(rules)) checkRules(mapping, rules, [...path, 'rules'], profile, findings);
  if (module !== undefined) {
    for (const name of DECLARED) {
      if (mapping[name] === undefined) continue;
      const message = `found ${name} beside module, expected only when beside module`;
      findings.addProblem([...path, name], message);
    }
    return;
  }
  for (const name of ['to', 'key', 'fields'] as const) {
    if (mapping[name] !== undefined) continue;
    findings.addMismatch([...path, name], name === 'to' ? `one of ${ITEM_KINDS.join(', ')}` : EXPECTED[name]);
  }
  const kind = ITEM_KINDS.find((one) => one === to);
  if (kind === undefined) return;
  checkRefs(kind, refs, [...path, 'refs'], findings);
  if (profile !== undefined && isJsonObject(fields)) checkFields(kind, fields, [...path, 'fields'], profile, findings);
}

const EXPECTED = { key: "an expression for the item's key", fields: 'an expression for each field' };

function checkRefs(kind: ItemKind, refs: unknown, path: PathSegment[], findings: Findings): void {
  if (kind !== 'bom_item') {
    if (refs !== undefined)
      findings.addProblem(path, `found refs, expected none: only BOM items have refs, not a ${kind}`);
    return;
  }
  if (refs === undefined) {
    findings.addMismatch(path, 'the product of the BOM item, and its material or component');
    return;
  }
  if (!isJsonObject(refs)) return;
  if (refs['product'] === undefined) {
    findings.addMismatch([...path, 'product'], 'an expression for the key of the product that the BOM item belongs to');
  }
  if (PART_ROLES.every((role) => refs[role] === undefined)) {
    findings.addProblem(path, 'found neither material nor component nor part, expected at least one of them');
  }
}

function checkFields(
  kind: ItemKind,
  fields: Record<string, unknown>,
  path: PathSegment[],
  profile: Profile,
  findings: Findings,
): void {
  const allowed = allowedFieldsOf(profile, kind);
  for (const name of Object.keys(fields)) {
    if (allowed.includes(name)) continue;
    const isRole = kind === 'bom_item' && ['product', ...PART_ROLES].includes(name);
    findings.addUnknownKey(
      [...path, name],
      allowed,
      isRole ? 'Write the items to which a BOM item refers under refs.' : undefined,
    );
  }
  // Without an expression for each required field, every record would be quarantined.
  for (const [name, schema] of Object.entries(ITEM_FIELDS[kind])) {
    if (fields[name] !== undefined || schema.safeParse(undefined).success) continue;
    findings.addMismatch([...path, name], `an expression: every ${kind} needs its ${name}`);
  }
}

/** Reports rules for fields that no item of the mapping can have, because such a rule would have no effect. */
function checkRules(
  { to }: Record<string, unknown>,
  rules: Record<string, unknown>,
  path: PathSegment[],
  profile: Profile,
  findings: Findings,
): void {
  const kinds = ITEM_KINDS.filter((kind) => to === undefined || kind === to);
  const allowed = [...new Set(kinds.flatMap((kind) => allowedFieldsOf(profile, kind)))];
  for (const name of Object.keys(rules)) {
    if (!allowed.includes(name.split('.', 1)[0] ?? '')) findings.addUnknownKey([...path, name], allowed);
  }
}

/** Passports that are not initialised automatically can never be published automatically. */
export function checkPassports(value: unknown, findings: Findings): void {
  const passports = isJsonObject(value) ? value['passports'] : undefined;
  if (!isJsonObject(passports) || passports['init'] !== 'manual' || passports['publish'] !== 'auto') return;
  findings.addMismatch(['passports', 'publish'], 'manual, since passports are initialised by hand (`init: manual`)');
}

/** Reports a password that is given twice, and one for a queue that needs none. */
export function checkQueuePassword(value: unknown, findings: Findings): void {
  if (!isJsonObject(value) || (value['queuePassword'] ?? '') === '') return;
  const { queue = 'embedded' } = value;
  if (queue === 'embedded') {
    findings.addMismatch(['queuePassword'], 'nothing, since the embedded queue has no password');
  } else if (typeof queue === 'string' && URL.parse(queue)?.password) {
    findings.addMismatch(['queuePassword'], 'nothing, since the URL of `queue` has a password');
  }
}

/**
 * Checks of the dashboard that the schema cannot make: somebody must be able to log in, and the host names of the
 * dashboard must be listed.
 */
export function checkWeb(value: unknown, findings: Findings): void {
  const web = isJsonObject(value) ? value['web'] : undefined;
  if (!isJsonObject(web)) return;
  const { host = '127.0.0.1', token, users, allowedHosts, userHeader, trustedProxies } = web;
  const entries = Array.isArray(users) ? users : [];
  if (token === undefined && entries.length === 0) {
    findings.addProblem(
      ['web'],
      'found neither a token nor users, so no person could log in',
      'Give `token`, or `users` with passwords that `dpp-sync password` has hashed.',
    );
  }
  for (const [index, entry] of entries.entries()) {
    if (userHeader !== undefined || !isJsonObject(entry) || entry['password'] !== undefined) continue;
    findings.addMismatch(['web', 'users', index, 'password'], 'a hash as `dpp-sync password` prints it');
  }
  if (userHeader !== undefined && !(Array.isArray(trustedProxies) && trustedProxies.length > 0)) {
    findings.addProblem(
      ['web', 'userHeader'],
      'found a header without `trustedProxies`, so each client could be any user',
      'List in `web.trustedProxies` the addresses of the proxy that logs people in.',
    );
  }
  const names = entries.map((entry) => (isJsonObject(entry) ? entry['name'] : undefined));
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string' || names.indexOf(name) === index) continue;
    findings.addMismatch(['web', 'users', index, 'name'], 'a name that no other user has');
  }
  const hosts = Array.isArray(allowedHosts) ? allowedHosts : [];
  if (typeof host !== 'string' || isLoopback(host) || hosts.length > 0) return;
  findings.addProblem(
    ['web', 'host'],
    `found ${host}, which other machines can reach, without \`allowedHosts\``,
    'List in `web.allowedHosts` the names under which people reach the dashboard, or listen on 127.0.0.1.',
  );
}
