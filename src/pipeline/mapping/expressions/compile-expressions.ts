import type { Environment } from '@marcbachmann/cel-js';
import { ITEM_FIELDS, type ItemKind, REF_ROLES } from '../../../domain/item.ts';
import type { MappedRole, MappingDefinition } from '../../../domain/mapping.ts';
import type { LookupTables } from '../lookups.ts';
import { holdsText } from '../make-item.ts';
import type { MappingProblem } from '../mapping-error.ts';
import type { Meter } from '../meter.ts';
import { compileExpression, type Expression, type Findings } from './expression.ts';

/** A mapping made of expressions, ready to run. */
export interface ExpressionMapping {
  kind: ItemKind;
  /** The list that gives an item for each entry; null if each row gives one item. */
  each: Expression | null;
  key: Expression;
  when: Expression | null;
  refs: readonly { role: MappedRole; expression: Expression }[];
  fields: readonly MappedField[];
}

interface MappedField {
  name: string;
  expression: Expression;
  /** True for a text field: a number becomes text by the rule of `numberText`. */
  text: boolean;
}

const MAPPED_ROLES: readonly MappedRole[] = [...REF_ROLES, 'part'];

/** The inputs and the results of a compilation. */
export interface Compilation {
  environment: Environment;
  /** The environment that also has `item` and `index`. */
  entryEnvironment: Environment;
  meter: Meter;
  /** See `LookupTables`. */
  trace: LookupTables['trace'];
  findings: Findings;
  problems: MappingProblem[];
}

/** The columns that the expressions of a mapping name; null if they may use any column. */
export function columnsUsedBy({ each, key, when, refs, fields }: ExpressionMapping): ReadonlySet<string> | null {
  const others = [...refs, ...fields].map(({ expression }) => expression);
  const expressions = [each, key, when, ...others].filter((expression) => expression !== null);
  if (expressions.some(({ usesRow }) => usesRow)) return null;
  return new Set(expressions.flatMap(({ columns }) => columns));
}

/** Compiles the expressions of a mapping. Null if there were problems, which are added to `compilation`. */
export function compileExpressions(definition: MappingDefinition, compilation: Compilation): ExpressionMapping | null {
  const before = compilation.problems.length;
  const { to, path } = definition;
  if (to === undefined || definition.key === undefined) {
    const missing = to === undefined ? 'to' : 'key';
    compilation.problems.push({
      path,
      message: `The mapping has no "${missing}".`,
      cure:
        missing === 'to'
          ? 'Set `to` to what the mapping makes: product, material or bom_item. Or name a module.'
          : 'Give an expression for a stable id, for example row.MATNR.',
    });
  }
  const each = compile(definition.each, `${path}.each`, compilation);
  const inEntry =
    definition.each === undefined ? compilation : { ...compilation, environment: compilation.entryEnvironment };
  const key = compile(definition.key, `${path}.key`, inEntry);
  const when = compileWhen(definition, inEntry);
  const refs = MAPPED_ROLES.flatMap((role) => {
    const expression = compile(definition.refs?.[role], `${path}.refs.${role}`, inEntry);
    return expression === null ? [] : [{ role, expression }];
  });
  const fields = Object.entries(definition.fields ?? {}).flatMap(([name, source]) => {
    const expression = compile(source, `${path}.fields.${name}`, inEntry);
    return expression === null || to === undefined ? [] : [{ name, expression, text: holdsText(to, name) }];
  });
  if (to !== undefined) checkShape(definition, to, compilation.problems);
  if (to === undefined || key === null || compilation.problems.length > before) return null;
  return { kind: to, each, key, when, refs, fields };
}

/** Compiles `when`, and checks that it can be true or false. */
export function compileWhen(definition: MappingDefinition, compilation: Compilation): Expression | null {
  const path = `${definition.path}.when`;
  const when = compile(definition.when, path, compilation);
  if (when === null || when.type === 'bool' || when.type.startsWith('dyn')) return when;
  compilation.problems.push({
    path,
    message: `"when" has to be true or false, but this is of type ${when.type}.`,
    expression: when.text,
    cure: 'Write a comparison, for example row.MTART == "FERT".',
  });
  return null;
}

function compile(source: string | undefined, path: string, compilation: Compilation): Expression | null {
  if (source === undefined) return null;
  const compiled = compileExpression(compilation.environment, source, { ...compilation, path });
  if (!compiled.ok) {
    for (const problem of compiled.error) compilation.problems.push({ path, expression: source.trim(), ...problem });
    return null;
  }
  return compiled.value;
}

/** Checks that a mapping can give every field that its kind needs, before any row is read. */
function checkShape(definition: MappingDefinition, kind: ItemKind, problems: MappingProblem[]): void {
  const { path, fields = {}, refs = {} } = definition;
  for (const [name, schema] of Object.entries(ITEM_FIELDS[kind])) {
    if (Object.hasOwn(fields, name) || schema.safeParse(undefined).success) continue;
    problems.push({ path: `${path}.fields.${name}`, message: `A ${kind} needs the field "${name}".` });
  }
  if (Object.hasOwn(fields, '__proto__')) {
    problems.push({ path: `${path}.fields.__proto__`, message: 'A field cannot have this name.' });
  }
  if (kind !== 'bom_item') {
    if (Object.keys(refs).length > 0) {
      problems.push({ path: `${path}.refs`, message: `Only BOM items have refs, but this mapping makes a ${kind}.` });
    }
    return;
  }
  if (refs.product === undefined) {
    problems.push({ path: `${path}.refs.product`, message: 'A BOM item must name the product to which it belongs.' });
  }
  if (refs.part === undefined && refs.material === undefined && refs.component === undefined) {
    problems.push({
      path: `${path}.refs`,
      message: 'A BOM item must name its part: a material, or a component (a product).',
      cure: 'Give refs.material or refs.component; or refs.part for whichever of the two has the key.',
    });
  }
}
