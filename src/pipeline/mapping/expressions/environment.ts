import { Environment } from '@marcbachmann/cel-js';
import type { CheckedFunction } from '../../../domain/words/issues.ts';
import { country } from '../functions/country.ts';
import { date } from '../functions/date.ts';
import { decimal } from '../functions/decimal.ts';
import { gtin } from '../functions/gtin.ts';
import {
  asList,
  BOUNDED,
  createSearch,
  decodeEntities,
  first,
  htmlText,
  type LinearPattern,
  pairs,
  printable,
  requireDurationText,
  STEPS_PER_CHARACTER,
  separatorOf,
  split,
} from '../functions/text.ts';
import { type UnitTable, unit } from '../functions/unit.ts';
import { type LookupTables, lookup, lookupAll } from '../lookups.ts';
import { MappingError } from '../mapping-error.ts';
import type { Meter } from '../meter.ts';
import { requireNumberText, shown } from '../values.ts';

/** Limits for one expression, far above what a mapping needs. */
const LIMITS = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 8 };

/**
 * The language of mappings: CEL with the variable `row`, more functions, and arithmetic between whole numbers and
 * fractions. Lookup tables and patterns are only read when an expression is evaluated, so they may be filled after
 * compilation.
 */
export function createEnvironment(resources: {
  tables: LookupTables;
  patterns: ReadonlyMap<string, LinearPattern>;
  units: UnitTable;
  meter: Meter;
}): Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  environment.registerVariable('row', 'map');
  registerFunctions(environment, resources.units);
  registerLookups(environment, resources.tables);
  registerLists(environment, resources.meter);
  registerMatches(environment, resources.patterns, resources.meter);
  registerSearch(environment, resources.meter);
  registerArithmetic(environment);
  registerText(environment);
  return environment;
}

/** The language within `each`, which also has the variables `item` and `index`. */
export function withEntryVariables(environment: Environment): Environment {
  return environment.clone().registerVariable('item', 'dyn').registerVariable('index', 'int');
}

function registerFunctions(environment: Environment, units: UnitTable): void {
  const sync = { async: false };
  environment.registerFunction('country(dyn): dyn', (value: unknown) => country(value), sync);
  environment.registerFunction('unit(dyn): dyn', (value: unknown) => unit(value, units), sync);
  environment.registerFunction('decimal(dyn): dyn', (value: unknown) => decimal(value), sync);
  environment.registerFunction('decimal(dyn, dyn): dyn', (value: unknown, mark: unknown) => decimal(value, mark), sync);
  environment.registerFunction('gtin(dyn): dyn', (value: unknown) => gtin(value), sync);
  environment.registerFunction('date(dyn): dyn', (value: unknown) => date(value), sync);
  environment.registerFunction('date(dyn, dyn): dyn', (value: unknown, format: unknown) => date(value, format), sync);
}

function registerLookups(environment: Environment, tables: LookupTables): void {
  const sync = { async: false };
  const find = (table: unknown, key: unknown, ...fallback: unknown[]) => lookup(tables, table, key, ...fallback);
  environment.registerFunction('lookup(dyn, dyn): dyn', (table: unknown, key: unknown) => find(table, key), sync);
  environment.registerFunction(
    'lookup(dyn, dyn, dyn): dyn',
    (table: unknown, key: unknown, fallback: unknown) => find(table, key, fallback),
    sync,
  );
  environment.registerFunction(
    'lookup_all(dyn, dyn): dyn',
    (table: unknown, key: unknown) => lookupAll(tables, table, key),
    sync,
  );
}

/** Functions over texts of any length and over lists. Each function counts its steps before it begins. */
function registerLists(environment: Environment, meter: Meter): void {
  const sync = { async: false };
  const counted = <T>(value: unknown, read: (value: unknown) => T): T => {
    if (typeof value === 'string') meter.spend(value.length * STEPS_PER_CHARACTER);
    return read(value);
  };
  /** A search may compare each character of the text with each character of the separator. */
  const separated = (value: unknown, separator: unknown, name: CheckedFunction): string => {
    const text = separatorOf(separator, name);
    if (typeof value === 'string') meter.spend(value.length * text.length * STEPS_PER_CHARACTER);
    return text;
  };
  environment.registerFunction('html_text(dyn): dyn', (value: unknown) => counted(value, htmlText), sync);
  environment.registerFunction('decode_entities(dyn): dyn', (value: unknown) => counted(value, decodeEntities), sync);
  environment.registerFunction('printable(dyn): dyn', (value: unknown) => counted(value, printable), sync);
  environment.registerFunction('first(dyn): dyn', first, sync);
  environment.registerFunction('as_list(dyn): dyn', asList, sync);
  environment.registerFunction(
    'split(dyn, dyn): dyn',
    (value: unknown, separator: unknown) => split(value, separated(value, separator, 'split')),
    sync,
  );
  environment.registerFunction(
    'pairs(dyn, dyn, dyn): dyn',
    (value: unknown, between: unknown, within: unknown) =>
      pairs(value, separated(value, between, 'pairs'), separated(value, within, 'pairs')),
    sync,
  );
}

/** Replaces CEL's `matches`, which would run a backtracking engine. */
function registerMatches(environment: Environment, patterns: ReadonlyMap<string, LinearPattern>, meter: Meter): void {
  environment.registerFunction(
    `string.${BOUNDED}matches(string): bool`,
    (text: string, pattern: string) => {
      const matches = patterns.get(pattern);
      if (matches) return matches(text, meter.spend);
      throw new MappingError('matches.pattern', 'The pattern of matches() is a literal text.');
    },
    { async: false },
  );
}

function registerSearch(environment: Environment, meter: Meter): void {
  const search = createSearch(meter);
  const sync = { async: false };
  environment.registerFunction(`string.${BOUNDED}contains(string): bool`, search.contains, sync);
  environment.registerFunction(`string.${BOUNDED}indexOf(string): int`, search.indexOf, sync);
  environment.registerFunction(`string.${BOUNDED}indexOf(string, int): int`, search.indexOfFrom, sync);
  environment.registerFunction(`string.${BOUNDED}lastIndexOf(string): int`, search.lastIndexOf, sync);
  environment.registerFunction(`string.${BOUNDED}lastIndexOf(string, int): int`, search.lastIndexOfFrom, sync);
  environment.registerFunction(`string.${BOUNDED}split(string): list<string>`, search.split, sync);
  environment.registerFunction(`string.${BOUNDED}split(string, int): list<string>`, search.splitInto, sync);
  environment.registerFunction(`${BOUNDED}duration(string): string`, requireDurationText, sync);
}

/**
 * CEL does not mix `int` (a literal without a point) and `double` (a number of a JSON row). People mix them, so these
 * operators allow it.
 */
function registerArithmetic(environment: Environment): void {
  const operators: Record<string, (left: number, right: number) => number> = {
    '+': (left, right) => left + right,
    '-': (left, right) => left - right,
    '*': (left, right) => left * right,
    '/': (left, right) => left / right,
  };
  for (const [operator, apply] of Object.entries(operators)) {
    const handler = (left: number | bigint, right: number | bigint) => apply(Number(left), Number(right));
    environment.registerOperator(`int ${operator} double: double`, handler);
    environment.registerOperator(`double ${operator} int: double`, handler);
  }
}

/**
 * `+` joins text and numbers. `==` between text and a number is an issue: CEL would always give false, so `row.QTY ==
 * 5` in `when` would silently exclude all rows of a CSV file.
 */
function registerText(environment: Environment): void {
  for (const number of ['int', 'double']) {
    environment.registerOperator(
      `string + ${number}: string`,
      (text: string, value: number | bigint) => text + requireNumberText(value),
    );
    environment.registerOperator(
      `${number} + string: string`,
      (value: number | bigint, text: string) => requireNumberText(value) + text,
    );
    environment.registerOperator(`string == ${number}`, (text: unknown, value: unknown) => {
      throw new MappingError(
        'expression.types',
        `Text and a number are never equal: ${JSON.stringify(shown(String(text)))} and ${String(value)}.`,
        text === ''
          ? 'A number is never empty. For a column that may be empty, write `row.X == null`, or `decimal(row.X) == null` if it also has texts.'
          : `Compare with text ("${String(value)}"), or make a number first: double(…).`,
      );
    });
  }
}
