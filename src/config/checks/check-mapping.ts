import { ITEM_FIELDS, ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import { allowedFieldsOf, type Profile } from '../../domain/profile.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { PathSegment } from '../problem.ts';
import type { Findings } from './findings.ts';

const DECLARED = ['to', 'each', 'key', 'refs', 'fields'] as const;
const PART_ROLES = ['material', 'component', 'part'] as const;

/**
 * The rules for a mapping that go beyond single values. It uses the unchecked values of the file, because it also runs
 * if other parts of the config are wrong.
 */
export function checkMapping(
  mapping: Record<string, unknown>,
  path: readonly PathSegment[],
  context: { streams: readonly string[]; profile: Profile | undefined; findings: Findings },
): void {
  const { streams, profile, findings } = context;
  const { stream, module, to, refs, fields, rules } = mapping;
  if (stream === undefined && !streams.includes('default')) {
    findings.addMismatch([...path, 'stream'], `the name of a stream: ${streams.join(', ')}`);
  } else if (typeof stream === 'string' && !streams.includes(stream)) {
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
