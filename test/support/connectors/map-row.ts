import type { Issue } from '../../../src/domain/issue.ts';
import type { MappedItem, Mapper, MappingDefinition, MapResult } from '../../../src/domain/mapping.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { compileMappings, type SourceMappings } from '../../../src/pipeline/mapping/compile-mappings.ts';
import type { MappingProblem } from '../../../src/pipeline/mapping/mapping-error.ts';

/** A mapping without its path and stream, which the helpers add. */
export type Draft = Omit<MappingDefinition, 'path' | 'stream'> & { stream?: string };

function definitionsOf(drafts: readonly Draft[]): MappingDefinition[] {
  return drafts.map((draft, index) => ({ stream: 'products', ...draft, path: `sources[0].mappings[${index}]` }));
}

/** Compiles mappings that must have no problems. */
export async function mapperOf(
  drafts: readonly Draft[],
  baseDir = import.meta.dirname,
  more: Partial<SourceMappings> = {},
): Promise<Mapper> {
  const compiled = await compileMappings({ source: 'erp', definitions: definitionsOf(drafts), baseDir, ...more });
  if (!compiled.ok) throw new Error(`unexpected problems: ${JSON.stringify(compiled.error, null, 1)}`);
  return compiled.value;
}

/** The problems of mappings that must have some. */
export async function problemsOf(drafts: readonly Draft[], baseDir = import.meta.dirname): Promise<MappingProblem[]> {
  const compiled = await compileMappings({ source: 'erp', definitions: definitionsOf(drafts), baseDir });
  return compiled.ok ? [] : compiled.error;
}

export function mapRow(mapper: Mapper, fields: JsonObject, stream = 'products'): MapResult {
  return mapper.map({ source: 'erp', stream, fields, place: { file: 'rows.csv', line: 2 }, issues: [] });
}

/** The items of a row that must be mapped without an issue. */
export function itemsOf(mapper: Mapper, fields: JsonObject): MappedItem[] {
  const result = mapRow(mapper, fields);
  if (result.status !== 'mapped') throw new Error(`not mapped: ${JSON.stringify(result)}`);
  return result.items;
}

/** The issues of a row that must be quarantined. */
export function issuesOf(mapper: Mapper, fields: JsonObject): Issue[] {
  const result = mapRow(mapper, fields);
  if (result.status !== 'quarantined') throw new Error(`not quarantined: ${JSON.stringify(result)}`);
  return result.issues;
}

/** A product mapping with one more field, `x`. */
export function productWith(x: string): Draft {
  return { to: 'product', key: '"K"', fields: { sku: '"S"', name: '"N"', x } };
}

/** The value of an expression as a field; undefined if the field is left out. */
export async function valueOf(expression: string, row: JsonObject = {}): Promise<JsonValue | undefined> {
  return itemsOf(await mapperOf([productWith(expression)]), row)[0]?.payload.x;
}

/** The issue of an expression for a row. There must be exactly one. */
export async function issueOf(expression: string, row: JsonObject = {}): Promise<Issue> {
  const issues = issuesOf(await mapperOf([productWith(expression)]), row);
  const [issue] = issues;
  if (issues.length !== 1 || !issue) throw new Error(`not one issue: ${JSON.stringify(issues)}`);
  return issue;
}

/** The problem of an expression. There must be exactly one. */
export async function problemOf(expression: string, baseDir?: string): Promise<MappingProblem> {
  const problems = await problemsOf([productWith(expression)], baseDir);
  const [problem] = problems;
  if (problems.length !== 1 || !problem) throw new Error(`not one problem: ${JSON.stringify(problems)}`);
  return problem;
}
