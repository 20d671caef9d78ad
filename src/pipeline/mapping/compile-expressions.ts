import type { Environment } from '@marcbachmann/cel-js';
import { ITEM_FIELDS, type ItemKind, REF_KINDS, REF_ROLES, type RefRole } from '../../domain/item.ts';
import type { MappingDefinition } from '../../domain/mapping.ts';
import type { MappingProblem } from './definition.ts';
import { compileExpression, type Expression, type Findings } from './expression.ts';
import type { Meter } from './meter.ts';

/** A mapping made of expressions, ready to run. */
export interface ExpressionMapping {
  kind: ItemKind;
  key: Expression;
  when: Expression | null;
  refs: readonly { role: RefRole; kind: ItemKind; expression: Expression }[];
  fields: readonly MappedField[];
}

interface MappedField {
  name: string;
  expression: Expression;
  /** True for a text field: a number becomes text by the one rule of `numberText`. */
  text: boolean;
}

/** The inputs and the findings of a compilation. */
export interface Compilation {
  environment: Environment;
  meter: Meter;
  findings: Findings;
  problems: MappingProblem[];
}

/** Compiles the expressions of a mapping. Null if there were problems; all of them are in `compilation`. */
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
          ? 'Say what it makes: product, material or bom_item; or name a module.'
          : 'Give an expression for a stable id, for example row.MATNR.',
    });
  }
  const key = compile(definition.key, `${path}.key`, compilation);
  const when = compileWhen(definition, compilation);
  const refs = REF_ROLES.flatMap((role) => {
    const expression = compile(definition.refs?.[role], `${path}.refs.${role}`, compilation);
    return expression === null ? [] : [{ role, kind: REF_KINDS[role], expression }];
  });
  const fields = Object.entries(definition.fields ?? {}).flatMap(([name, source]) => {
    const expression = compile(source, `${path}.fields.${name}`, compilation);
    return expression === null || to === undefined ? [] : [{ name, expression, text: holdsText(to, name) }];
  });
  if (to !== undefined) checkShape(definition, to, compilation.problems);
  if (to === undefined || key === null || compilation.problems.length > before) return null;
  return { kind: to, key, when, refs, fields };
}

/** Compiles `when`, and checks that it can be true or false. */
export function compileWhen(definition: MappingDefinition, compilation: Compilation): Expression | null {
  const path = `${definition.path}.when`;
  const when = compile(definition.when, path, compilation);
  if (when === null || when.type === 'bool' || when.type.startsWith('dyn')) return when;
  compilation.problems.push({
    path,
    message: `"when" has to be true or false, and this is of type ${when.type}.`,
    expression: when.text,
    cure: 'Compare with something, for example row.MTART == "FERT".',
  });
  return null;
}

function compile(source: string | undefined, path: string, compilation: Compilation): Expression | null {
  if (source === undefined) return null;
  const compiled = compileExpression(compilation.environment, source, compilation);
  if (compiled.ok) return compiled.value;
  for (const problem of compiled.error) compilation.problems.push({ path, expression: source.trim(), ...problem });
  return null;
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
      problems.push({ path: `${path}.refs`, message: `Only BOM items have refs, and this makes a ${kind}.` });
    }
    return;
  }
  if (refs.product === undefined) {
    problems.push({ path: `${path}.refs.product`, message: 'A BOM item names the product that it belongs to.' });
  }
  if (refs.material === undefined && refs.component === undefined) {
    problems.push({
      path: `${path}.refs`,
      message: 'A BOM item names what it consists of: a material, or a component (a product).',
      cure: 'Give refs.material or refs.component; where rows differ, give both and let one of them be empty.',
    });
  }
}

/** True for canonical fields that take a text and refuse a number. */
function holdsText(kind: ItemKind, name: string): boolean {
  const schemas: Partial<Record<string, { safeParse(value: unknown): { success: boolean } }>> = ITEM_FIELDS[kind];
  if (!Object.hasOwn(schemas, name)) return false;
  const schema = schemas[name];
  return schema !== undefined && schema.safeParse('a').success && !schema.safeParse(1).success;
}
