import type { Issue } from '../../domain/issue.ts';
import type { Item, ItemKind } from '../../domain/item.ts';
import {
  type BlockedProducts,
  type MappableRecord,
  type MappedItem,
  type Mapper,
  type MappingDefinition,
  type MapResult,
  productsOf,
} from '../../domain/mapping.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { messageOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { JsonObject } from '../../lib/json.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { applyExpressions, evaluateWhen } from './apply-expressions.ts';
import { applyModule } from './apply-module.ts';
import { ANY_PRODUCT, type Refusal } from './blocked-products.ts';
import { type Compilation, compileExpressions, compileWhen } from './compile-expressions.ts';
import type { MappingProblem } from './definition.ts';
import { createEnvironment } from './environment.ts';
import { loadModule } from './load-module.ts';
import { loadLookupTable } from './lookup-tables.ts';
import { createMeter, type Meter } from './meter.ts';
import { readModuleSource } from './module-source.ts';
import { createMappingTools } from './tools.ts';
import { isTooDeep } from './values.ts';

/**
 * The version of our own code in mappings: functions, conversions, validation. Raise it with each change of their
 * results, so that stored records are mapped again after an upgrade.
 */
const HELPERS_VERSION = 3;

type Apply = (record: MappableRecord) => Result<Item[], Refusal>;

/** A compiled mapping of one stream. */
interface StreamMapping {
  stream: string;
  /** Its position in the config. */
  index: number;
  apply: Apply;
  /** The kind of its items; undefined for a module, which can make items of any kind. */
  kind: ItemKind | undefined;
}

interface Compiled {
  run: Apply;
  /** The hash of the module's sources; absent without a module. */
  hash?: string;
}

/**
 * Compiles the mappings of one source within milliseconds. It always reads lookup files and modules again. A daemon
 * calls it at every run and replay, so that changed files take effect without a restart.
 *
 * @param options.definitions in the order of the config; the items count their mapping by it
 * @param options.baseDir an absolute path; lookup files are relative to it
 * @returns all problems at once; `mappingFault` makes one error of them
 */
export async function compileMappings(options: {
  definitions: readonly MappingDefinition[];
  baseDir: string;
}): Promise<Result<Mapper, MappingProblem[]>> {
  const tables = new Map<string, ReadonlyMap<string, string>>();
  const tools = createMappingTools(tables);
  const findings: Compilation['findings'] = { lookups: new Set(), patterns: new Map() };
  const meter = createMeter();
  const environment = createEnvironment({ tables, patterns: findings.patterns, meter });
  const problems: MappingProblem[] = [];
  const hashes: JsonObject = {};
  const wantedBy = new Map<string, string>();
  const mappings: StreamMapping[] = [];

  for (const [index, definition] of options.definitions.entries()) {
    const compilation = { environment, meter, findings: { ...findings, lookups: new Set<string>() }, problems };
    const apply =
      definition.module === undefined
        ? compileDeclared(definition, compilation)
        : await compileModule({ ...definition, module: definition.module }, compilation, tools);
    for (const file of compilation.findings.lookups) wantedBy.set(file, wantedBy.get(file) ?? definition.path);
    if (apply === null) continue;
    mappings.push({ stream: definition.stream, index, apply: apply.run, kind: definition.to });
    if (apply.hash !== undefined) hashes[`module ${index}`] = apply.hash;
  }
  for (const [file, path] of wantedBy) {
    const table = await loadLookupTable(file, options.baseDir);
    if (table.ok) {
      tables.set(file, table.value.entries);
      hashes[`lookup ${file}`] = table.value.hash;
    } else {
      problems.push({ path, message: table.error });
    }
  }
  if (problems.length > 0) return err(problems);
  return ok(createMapper(mappings, { meter, revision: revisionOf(options.definitions, hashes) }));
}

function compileDeclared(definition: MappingDefinition, compilation: Compilation): Compiled | null {
  const mapping = compileExpressions(definition, compilation);
  return mapping === null ? null : { run: (record) => applyExpressions(mapping, record.fields) };
}

async function compileModule(
  definition: MappingDefinition & { module: string },
  compilation: Compilation,
  tools: ReturnType<typeof createMappingTools>,
): Promise<Compiled | null> {
  const path = `${definition.path}.module`;
  for (const name of ['to', 'key', 'refs', 'fields'] as const) {
    if (definition[name] === undefined) continue;
    const message = `A mapping with a module has no "${name}": the module says it all.`;
    compilation.problems.push({ path: `${definition.path}.${name}`, message });
  }
  const when = compileWhen(definition, compilation);
  const source = await readModuleSource(definition.module);
  const loaded = source.ok ? await loadModule(definition.module, source.value.hash) : source;
  if (!source.ok || !loaded.ok) {
    if (!loaded.ok) compilation.problems.push({ path, message: loaded.error });
    return null;
  }
  for (const file of source.value.lookups) compilation.findings.lookups.add(file);
  const module = loaded.value;
  const run: Apply = (record) => {
    const wanted = evaluateWhen(when, record.fields);
    if (!wanted.ok) return err({ issues: [wanted.error], blockedProducts: ANY_PRODUCT });
    return wanted.value ? applyModule(module, record, tools) : ok([]);
  };
  return { run, hash: source.value.hash };
}

/**
 * Paths do not count: a mapping that is moved within the config, or a config in another folder, makes the same items.
 */
function revisionOf(definitions: readonly MappingDefinition[], hashes: JsonObject): string {
  const declared = definitions.map(({ stream, to, key, when, refs, fields, module }) => ({
    stream,
    to: to ?? null,
    key: key?.trim() ?? null,
    when: when?.trim() ?? null,
    refs: trimmed(refs),
    fields: trimmed(fields),
    module: module !== undefined,
  }));
  return sha256Hex(canonicalJson({ version: HELPERS_VERSION, mappings: declared, files: hashes }));
}

function trimmed(expressions: Record<string, string | undefined> = {}): JsonObject {
  return Object.fromEntries(Object.entries(expressions).map(([name, text]) => [name, text?.trim() ?? null]));
}

function createMapper(
  mappings: readonly StreamMapping[],
  { meter, revision }: { meter: Meter; revision: string },
): Mapper {
  const byStream = Map.groupBy(mappings, ({ stream }) => stream);
  return {
    revision,
    streams: [...byStream.keys()],
    map(record) {
      const mappings = byStream.get(record.stream) ?? [];
      const unreadable = (issues: readonly Issue[]): MapResult => ({
        status: 'quarantined',
        issues: [...issues],
        blockedProducts: anyOf(mappings),
      });
      if (record.issues.length > 0) return unreadable(record.issues);
      if (isTooDeep(record.fields)) {
        return unreadable([{ code: 'row.depth', message: 'The row is nested too deeply to be mapped.' }]);
      }
      try {
        meter.startRow();
        return mapWith(mappings, record);
      } catch (error) {
        return unreadable([{ code: 'mapping.failed', message: `The row could not be mapped: ${messageOf(error)}.` }]);
      }
    },
  };
}

/** The blocked products of a row that cannot be read: nobody knows which product it belongs to. */
function anyOf(mappings: readonly StreamMapping[]): BlockedProducts {
  return mappings.some(({ kind }) => kind === 'bom_item' || kind === undefined) ? ANY_PRODUCT : [];
}

function mapWith(mappings: readonly StreamMapping[], record: MappableRecord): MapResult {
  const items: MappedItem[] = [];
  const issues: Issue[] = [];
  const blockedProducts: (string | null)[] = [];
  for (const { index, apply } of mappings) {
    const made = apply(record);
    if (made.ok) {
      for (const item of made.value) items.push({ ...item, mapping: index });
    } else {
      issues.push(...made.error.issues);
      blockedProducts.push(...made.error.blockedProducts);
    }
  }
  if (issues.length > 0)
    return { status: 'quarantined', issues, blockedProducts: [...new Set([...blockedProducts, ...productsOf(items)])] };
  return items.length > 0 ? { status: 'mapped', items } : { status: 'excluded' };
}
