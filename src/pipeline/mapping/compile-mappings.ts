import { holdingIssues, type Issue } from '../../domain/issue.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { FindEntry } from '../../domain/lookup.ts';
import {
  type Blocked,
  type BlockedProducts,
  type LookupConfig,
  type MappableRecord,
  type MappedItem,
  type Mapper,
  type MappingDefinition,
  type MapResult,
  materialsOf,
  productsOf,
} from '../../domain/mapping.ts';
import { comparableName } from '../../domain/natural-key.ts';
import { NATURAL_KEYS, type Profile } from '../../domain/profile.ts';
import type { IdentifyingMapping } from '../../domain/record.ts';
import { err, messageOf, ok, type Result } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { visibleText } from '../../lib/text/safe-text.ts';
import { columnsNamedBy } from '../column-check.ts';
import { applyModule, createMappingTools } from './apply-module.ts';
import { applyExpressions, evaluateWhen } from './expressions/apply-expressions.ts';
import {
  type Compilation,
  columnsUsedBy,
  compileExpressions,
  compileWhen,
  type ExpressionMapping,
} from './expressions/compile-expressions.ts';
import { createEnvironment, withEntryVariables } from './expressions/environment.ts';
import { readKey, rowScope } from './expressions/expression.ts';
import { COUNTRY_NAMES_VERSION } from './functions/country.ts';
import { isUnitCode, unitTable } from './functions/unit.ts';
import { loadModule, readModuleSource } from './load-module.ts';
import { createLookupTables, type FindValueByHand, type LookupTables, loadLookups } from './lookups.ts';
import {
  type AllowedFields,
  ANY_PRODUCT,
  allBlocked,
  compileRules,
  type ItemChecks,
  type Made,
  madeItems,
  madeNothing,
} from './make-item.ts';
import type { MappingProblem } from './mapping-error.ts';
import { createMeter, type Meter } from './meter.ts';
import { isTooDeep } from './values.ts';

type Apply = (record: MappableRecord) => Made;

/** A compiled mapping of one stream. */
interface StreamMapping {
  stream: string;
  /** The position of the mapping in the config. */
  index: number;
  apply: Apply;
  /** The kind of the mapping's items; undefined for a module, which can make items of any kind. */
  kind: ItemKind | undefined;
  onIssue: 'hold' | 'report';
  uses: Compiled['uses'];
}

interface Compiled {
  run: Apply;
  /** Given if the mapping may identify rows. */
  identifying?: IdentifyingMapping | null;
  /** The columns that the mapping uses; null if it may use any column. */
  uses: ReadonlySet<string> | null;
  /** The hash of the module's sources; absent without a module. */
  hash?: string;
  files?: readonly string[];
}

/**
 * Compiles the mappings of one source within milliseconds. It always reads lookup files and modules again. A daemon
 * calls it at every run and replay, so that changed files take effect without a restart.
 *
 * @returns all problems at once
 */
export async function compileMappings(options: SourceMappings): Promise<Result<Mapper, MappingProblem[]>> {
  const { definitions, fields, naturalKeys = NATURAL_KEYS } = options;
  const tables = createLookupTables(options.byHand);
  const units = unitTable(options.units ?? {});
  const tools = createMappingTools({ tables, units });
  const findings: Compilation['findings'] = { lookups: new Map(), patterns: new Map() };
  const meter = createMeter();
  const environment = createEnvironment({ tables, patterns: findings.patterns, units, meter });
  const entryEnvironment = withEntryVariables(environment);
  const omitted = new Set((options.omit ?? []).map(comparableName));
  const problems: MappingProblem[] = [];
  const modules: JsonObject = {};
  const files = new Set<string>();
  const mappings: StreamMapping[] = [];
  const identifying = new Map<string, IdentifyingMapping[]>();

  for (const [index, definition] of definitions.entries()) {
    const { stream, to, path, onIssue = 'hold' } = definition;
    const compilation: Compilation = {
      environment,
      entryEnvironment,
      meter,
      trace: tables.trace,
      findings,
      problems,
    };
    const checks = { rules: compileRules(definition.rules ?? {}, { path, problems, meter }), fields, naturalKeys };
    const apply =
      definition.module === undefined
        ? compileDeclared(definition, compilation, checks)
        : await compileModule({ ...definition, module: definition.module }, compilation, { tools, checks });
    problems.push(...omittedIn(definition, omitted));
    if (apply === null) continue;
    mappings.push({ stream, index, apply: apply.run, kind: to, onIssue, uses: apply.uses });
    if (apply.identifying) identifying.set(stream, [...(identifying.get(stream) ?? []), apply.identifying]);
    for (const file of apply.files ?? []) files.add(file);
    if (apply.hash !== undefined) modules[`module ${index}`] = apply.hash;
  }
  checkUnits(options, problems);
  await loadLookups(findings.lookups, options, { tables, problems, files });
  if (problems.length > 0) return err(problems);
  const revision = revisionOf(options, modules);
  const { lookedUp } = options;
  const mapper = createMapper(mappings, { meter, tables, files: [...files], revision, lookedUp });
  return ok({ ...mapper, identifying: { byStream: identifying, functions: functionsOf(options) } });
}

/** The columns that a mapping needs although they are never stored. `omitted` has their names as `comparableName` gives them. */
function omittedIn(definition: MappingDefinition, omitted: ReadonlySet<string>): MappingProblem[] {
  return columnsNamedBy(definition)
    .filter(({ name }) => omitted.has(comparableName(name)))
    .map(({ name, path, expression }) => ({
      path,
      expression,
      message: `The column "${visibleText(name)}" is in the \`omit\` of the source, so no record has it.`,
      cure: 'Remove it from `omit`, or from the expression.',
    }));
}

/** Checks that the source's table of units has only codes that exist. */
function checkUnits({ units = {}, definitions }: SourceMappings, problems: MappingProblem[]): void {
  const path = definitions[0]?.path.replace(/\.mappings\[\d+\]$/, '') ?? 'sources';
  for (const [name, code] of Object.entries(units)) {
    if (isUnitCode(code)) continue;
    problems.push({ path: `${path}.units.${name}`, message: `"${code}" is not a code of UNECE Rec 20 or 21.` });
  }
}

function compileDeclared(definition: MappingDefinition, compilation: Compilation, checks: ItemChecks): Compiled | null {
  const mapping = compileExpressions(definition, compilation);
  if (mapping === null) return null;
  const identifying = identifyingMapping(definition, mapping, compilation.meter);
  const uses = columnsUsedBy(mapping);
  return { run: (record) => applyExpressions(mapping, record.fields, checks), identifying, uses };
}

async function compileModule(
  definition: MappingDefinition & { module: string },
  compilation: Compilation,
  using: { tools: ReturnType<typeof createMappingTools>; checks: ItemChecks },
): Promise<Compiled | null> {
  const path = `${definition.path}.module`;
  for (const name of ['to', 'each', 'key', 'refs', 'fields'] as const) {
    if (definition[name] === undefined) continue;
    const message = `A mapping with a module has no "${name}", because the module makes the items.`;
    compilation.problems.push({ path: `${definition.path}.${name}`, message });
  }
  const when = compileWhen(definition, compilation);
  const source = await readModuleSource(definition.module);
  const loaded = source.ok ? await loadModule(definition.module, source.value.hash) : source;
  if (!source.ok || !loaded.ok) {
    if (!loaded.ok) compilation.problems.push({ path, message: loaded.error });
    return null;
  }
  const { lookups } = compilation.findings;
  for (const name of source.value.lookups) if (!lookups.has(name)) lookups.set(name, path);
  const module = loaded.value;
  const run: Apply = (record) => {
    const wanted = evaluateWhen(when, rowScope(record.fields));
    if (!wanted.ok) return madeNothing([wanted.error], ANY_PRODUCT);
    return wanted.value ? applyModule(module, record, using) : madeItems([]);
  };
  return { run, uses: null, hash: source.value.hash, files: source.value.files };
}

function createMapper(
  mappings: readonly StreamMapping[],
  {
    meter,
    tables,
    files,
    revision,
    lookedUp,
  }: {
    meter: Meter;
    tables: LookupTables;
    files: readonly string[];
    revision: string;
    lookedUp: SourceMappings['lookedUp'];
  },
): Mapper {
  const byStream = Map.groupBy(mappings, ({ stream }) => stream);
  const usesOf = new Map([...byStream].map(([stream, own]) => [stream, columnsOf(own, lookedUp?.get(stream) ?? [])]));

  function mapRecord(record: MappableRecord): MapResult {
    const own = byStream.get(record.stream) ?? [];
    const unreadable = (issues: readonly Issue[]): MapResult => ({
      status: 'quarantined',
      issues: [...issues],
      blockedProducts: anyOf(own),
    });
    const holding = holdingIssues(record.issues, usesOf.get(record.stream) ?? null);
    if (holding.length > 0) return unreadable(holding);
    if (isTooDeep(record.fields)) {
      return unreadable([{ code: 'row.depth', message: 'The row is nested too deeply to be mapped.' }]);
    }
    try {
      meter.startRow();
      return mapWith(own, record);
    } catch (error) {
      return unreadable([{ code: 'mapping.failed', message: `The row could not be mapped: ${messageOf(error)}.` }]);
    }
  }

  return {
    revision,
    files,
    streams: [...byStream.keys()],
    lookups: tables.all(),
    uses: (stream) => usesOf.get(stream) ?? null,
    map(record: MappableRecord, find?: FindEntry) {
      tables.startRow(find);
      const result = mapRecord(record);
      const uses = tables.uses();
      return uses.length === 0 ? result : { ...result, uses };
    },
  };
}

/** The columns that the mappings of a stream and lookups use; null if the mappings may use any column. */
function columnsOf(mappings: readonly StreamMapping[], lookedUp: readonly string[]): ReadonlySet<string> | null {
  const used = new Set(lookedUp);
  for (const { uses } of mappings) {
    if (uses === null) return null;
    for (const column of uses) used.add(column);
  }
  return used;
}

/** The blocked products of a row that cannot be read: it is unknown to which product the row belongs. */
function anyOf(mappings: readonly StreamMapping[]): BlockedProducts {
  return mappings.some(({ kind }) => kind === 'bom_item' || kind === undefined) ? ANY_PRODUCT.products : [];
}

/**
 * Applies all mappings of a stream. If a mapping with `onIssue: hold` fails, no item of the record is used. If only
 * mappings with `onIssue: report` fail, all items without an issue are used.
 */
function mapWith(mappings: readonly StreamMapping[], record: MappableRecord): MapResult {
  const items: MappedItem[] = [];
  const issues: Issue[] = [];
  const blocked: Blocked[] = [];
  let holds = false;
  for (const { index, apply, onIssue } of mappings) {
    const made = apply(record);
    for (const item of made.items) items.push({ ...item, mapping: index });
    issues.push(...made.issues);
    if (made.issues.length === 0 || onIssue === 'report') continue;
    holds = true;
    blocked.push(made.blocked);
  }
  if (holds) {
    const sound = { products: productsOf(items), materials: materialsOf(items) };
    const { products, materials } = allBlocked([...blocked, sound]);
    return { status: 'quarantined', issues, blockedProducts: products, blockedMaterials: materials };
  }
  if (issues.length > 0) return { status: 'quarantined', issues, blockedProducts: [], items };
  return items.length > 0 ? { status: 'mapped', items } : { status: 'excluded' };
}

/**
 * The mapping as one that may identify rows. Null with `each`, because a row has many keys then, and for a key that is looked
 * up, because it changes with the table. A `when` that looks something up does not count.
 */
function identifyingMapping(
  { key: keyText = '', path }: MappingDefinition,
  { kind, each, key, when }: ExpressionMapping,
  meter: Meter,
): IdentifyingMapping | null {
  if (each !== null || key.looksUp) return null;
  const ofRow = when?.looksUp === true ? null : when;
  return {
    kind,
    expressions: JSON.stringify([kind, key.text, ofRow?.text ?? null]),
    path,
    key: keyText.trim(),
    takesAllRows: ofRow === null,
    keyOf(fields) {
      meter.startRow();
      const scope = rowScope(fields);
      const wanted = evaluateWhen(ofRow, scope);
      return wanted.ok && !wanted.value ? null : readKey(key, scope);
    },
  };
}

/** The mappings of one source, with the tables, units and fields that they use. */
export interface SourceMappings {
  /** The id of the source. */
  source: string;
  /** The mappings in the order of the config. An item names its mapping by the position in this list. */
  definitions: readonly MappingDefinition[];
  /** An absolute path; lookup files are relative to it. */
  baseDir: string;
  /** The source's lookup tables by name. */
  lookups?: Readonly<Record<string, LookupConfig>>;
  /** The columns that the lookup tables of all sources take from the streams of this source, by stream. */
  lookedUp?: ReadonlyMap<string, readonly string[]>;
  /** The values that people have given, which replace the values of the tables. They may change between two rows. */
  byHand?: FindValueByHand;
  /** The names of units that only this source uses, with their codes. */
  units?: Readonly<Record<string, string>>;
  /** Columns that are never stored. */
  omit?: readonly string[];
  /** The fields that the profile allows; undefined to allow any. */
  fields?: AllowedFields;
  /** The fields by which the API identifies items; by default those of the default profile. */
  naturalKeys?: Profile['naturalKeys'];
}

/**
 * The version of this program's code for mappings: functions, conversions and validation. Raise it with each change of
 * their results, so that stored records are mapped again after an upgrade.
 */
const HELPERS_VERSION = 7;

/**
 * A hash over all that the mapping of a record depends on besides the record and the entries that it looks up. Paths do
 * not count: a mapping that is moved within the config, or a config in another folder, makes the same items.
 *
 * @param modules the hashes of the modules' sources
 */
function revisionOf({ definitions, lookups, units, fields, naturalKeys }: SourceMappings, modules: JsonObject): string {
  const declared = definitions.map(({ stream, to, each, key, when, refs, fields: given, rules, onIssue, module }) => ({
    stream,
    to: to ?? null,
    each: each?.trim() ?? null,
    key: key?.trim() ?? null,
    when: when?.trim() ?? null,
    refs: trimmed(refs),
    fields: trimmed(given),
    rules: plain(rules ?? {}),
    onIssue: onIssue ?? null,
    module: module !== undefined,
  }));
  const usesModules = Object.keys(modules).length > 0;
  return sha256Hex(
    canonicalJson({
      version: HELPERS_VERSION,
      countryNames: COUNTRY_NAMES_VERSION,
      mappings: declared,
      modules,
      lookups: plain(lookups ?? {}),
      units: plain(units ?? {}),
      naturalKeys: plain(naturalKeys ?? {}),
      // The config has checked the fields of expressions already.
      fields: usesModules ? plain(fields ?? {}) : null,
    }),
  );
}

/** Stands for all on which the result of an expression depends besides its text and the row. */
function functionsOf({ units }: SourceMappings): string {
  return sha256Hex(canonicalJson([HELPERS_VERSION, COUNTRY_NAMES_VERSION, plain(units ?? {})]));
}

function trimmed(expressions: Record<string, string | undefined> = {}): JsonObject {
  return Object.fromEntries(Object.entries(expressions).map(([name, text]) => [name, text?.trim() ?? null]));
}

function plain(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
