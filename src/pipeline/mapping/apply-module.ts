import { z } from 'zod';
import type { ForeignCode, Issue } from '../../domain/issue.ts';
import { ITEM_KINDS, type Item, REF_KINDS, REF_ROLES, wordsOfProblem } from '../../domain/item.ts';
import {
  type Blocked,
  type MappableRecord,
  type MappingModule,
  type MappingTools,
  materialsOf,
  productsOf,
} from '../../domain/mapping.ts';
import { err, messageOf, type Result } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { Json } from '../../lib/json-schema.ts';
import { country } from './functions/country.ts';
import { date } from './functions/date.ts';
import { decimal } from './functions/decimal.ts';
import { gtin } from './functions/gtin.ts';
import { decodeEntities, htmlText } from './functions/text.ts';
import { type UnitTable, unit } from './functions/unit.ts';
import { type LookupTables, lookup, lookupAll } from './lookups.ts';
import { ANY_PRODUCT, type ItemChecks, type Made, madeItems, madeNothing, makeItem, NOTHING } from './make-item.ts';
import { MappingError } from './mapping-error.ts';
import { copyOfRow, keyText, kindOf, shown, toPayload } from './values.ts';

const ITEMS_MAX = 1000;
const ISSUES_MAX = 100;

const Key = z.union([z.string(), z.number(), z.bigint()]);

const DraftItem = z.strictObject({
  kind: z.enum(ITEM_KINDS),
  key: Key,
  payload: z.custom<object>(isJsonObject, 'expected an object'),
  refs: z
    .array(
      z.strictObject({
        role: z.enum(REF_ROLES),
        kind: z.enum(ITEM_KINDS),
        key: Key,
        either: z.literal(true).optional(),
      }),
    )
    .refine((refs) => refs.every(({ role, kind }) => REF_KINDS[role] === kind), 'a ref has the wrong kind for its role')
    .refine(
      (refs) => refs.every(({ role, either }) => !either || role === 'component'),
      '`either` is only for a ref with the role component',
    )
    .default([]),
});

const Items = z.array(DraftItem).max(ITEMS_MAX);

const RefusedRow = z.strictObject({
  issues: z
    .array(
      z.object({
        code: z.string().min(1).max(100),
        message: z.string().min(1).max(2000),
        field: z.string().max(200).optional(),
        value: Json.optional(),
        cure: z.string().max(2000).optional(),
      }),
    )
    .min(1)
    .max(ISSUES_MAX),
  products: z.array(Key).max(ITEMS_MAX).optional(),
});

/**
 * Runs a mapping module on a copy of a row, so that the module cannot change the row for other mappings. Its result is
 * validated, and its errors become issues.
 */
export function applyModule(
  module: MappingModule,
  record: MappableRecord,
  { tools, checks }: { tools: MappingTools; checks: ItemChecks },
): Made {
  try {
    const given: unknown = module.map(copyOfRow(record.fields), {
      stream: record.stream,
      place: { ...record.place },
      tools,
    });
    if (Array.isArray(given)) {
      const items = Items.safeParse(given, { error: wordsOfProblem });
      return items.success ? toItems(items.data, checks) : refuse([nonsense(given, items.error)]);
    }
    const refused = RefusedRow.safeParse(given, { error: wordsOfProblem });
    if (!refused.success) return refuse([nonsense(given, refused.error)]);
    const { issues, products } = refused.data;
    const blocked =
      products === undefined
        ? ANY_PRODUCT
        : { ...NOTHING, products: products.map(keyText).filter((key) => key !== '') };
    return refuse(issues.map(toIssue), blocked);
  } catch (error) {
    if (error instanceof MappingError) {
      const { code, message, cure } = error;
      return refuse([{ code, message, ...(cure === undefined ? {} : { cure }) }]);
    }
    const message = `The mapping module threw: ${shown(messageOf(error))}`;
    return refuse([
      { code: 'module.threw', message, cure: 'Correct the module. If the module is right, correct the row.' },
    ]);
  }
}

/** A module can make any item of a row. If it refuses the row without naming products, any product may be affected. */
function refuse(issues: Issue[], blocked: Blocked = ANY_PRODUCT): Made {
  return madeNothing(issues, blocked);
}

function toItems(drafts: readonly z.infer<typeof DraftItem>[], checks: ItemChecks): Made {
  const made: Made = madeItems([]);
  const failed: Item[] = [];
  for (const draft of drafts) {
    const { payload, issues } = payloadOf(draft.payload);
    const given: Item = {
      kind: draft.kind,
      key: keyText(draft.key),
      payload,
      refs: draft.refs.flatMap(({ key, either, ...ref }) => {
        const text = keyText(key);
        return text === '' ? [] : [{ ...ref, key: text, ...(either === true ? { either } : {}) }];
      }),
    };
    const item: Result<Item, Issue[]> = issues.length > 0 ? err(issues) : makeItem(given, checks);
    if (item.ok) made.items.push(item.value);
    else {
      failed.push(given);
      made.issues.push(
        ...item.error.map((issue) => ({ ...issue, message: `${nameOf(given, drafts)}${issue.message}` })),
      );
    }
  }
  return { ...made, blocked: { products: productsOf(failed), materials: materialsOf(failed) } };
}

/** The module's value of each field, checked field by field, so that an issue names the field. */
function payloadOf(given: object): { payload: JsonObject; issues: Issue[] } {
  const payload: JsonObject = {};
  const issues: Issue[] = [];
  for (const [field, value] of Object.entries(given)) {
    try {
      Object.assign(payload, toPayload(Object.fromEntries([[field, value]])));
    } catch (error) {
      if (!(error instanceof MappingError)) throw error;
      const { code, message, cure = `Correct the value that the module gives for ${field}.` } = error;
      issues.push({ code, message: `${field}: ${message}`, field, cure });
    }
  }
  return { payload, issues };
}

/** Names the item that an issue is about, if the module has made several items. */
function nameOf({ kind, key }: Item, drafts: readonly unknown[]): string {
  return drafts.length > 1 ? `${kind} ${JSON.stringify(shown(key))}: ` : '';
}

function toIssue({ code, message, field, value, cure }: z.infer<typeof RefusedRow>['issues'][number]): Issue {
  return {
    code: code as ForeignCode,
    message,
    ...(field === undefined ? {} : { field }),
    ...(value === undefined ? {} : { value }),
    ...(cure === undefined ? {} : { cure }),
  };
}

function nonsense(given: unknown, error: z.ZodError): Issue {
  const promise = given instanceof Promise;
  // The promise that a module returned is not used. Without a handler for its rejection the process would end.
  if (promise) given.catch(() => undefined);
  const detail = promise
    ? 'a promise; a mapping is synchronous'
    : `${kindOf(given)} that is not a list of items: ${shown(complaintOf(error))}`;
  return {
    code: 'module.result',
    message: `The mapping module returned ${detail}.`,
    cure: 'Return a list of items {kind, key, payload, refs}, or {issues}.',
  };
}

/** The first problem of the result with its path, such as `0.kind: expected one of product, material`. */
function complaintOf(error: z.ZodError): string {
  const [first] = error.issues;
  if (first === undefined) return 'it has an invalid value';
  return [first.path.map(String).join('.'), first.message].filter((part) => part !== '').join(': ');
}

/**
 * The functions of expressions, for mapping modules. They return "" if an expression would get null; the field is left
 * out in both cases. They have the same optional arguments.
 */
export function createMappingTools({ tables, units }: { tables: LookupTables; units: UnitTable }) {
  return {
    country: (value: unknown) => country(value) ?? '',
    unit: (value: unknown) => unit(value, units) ?? '',
    decimal: (value: unknown, mark?: ',' | '.') => decimal(value, mark) ?? '',
    gtin: (value: unknown) => gtin(value) ?? '',
    date: (value: unknown, format?: string) => date(value, format) ?? '',
    htmlText: (value: unknown) => htmlText(value) ?? '',
    decodeEntities: (value: unknown) => decodeEntities(value) ?? '',
    lookup: (table: string, key: unknown, ...fallback: string[]) => {
      const found = lookup(tables, table, key, ...fallback);
      return typeof found === 'string' ? found : '';
    },
    lookupAll: (table: string, key: unknown) => copyOfValues(lookupAll(tables, table, key)),
  } satisfies MappingTools;
}

/** The tables are shared by all rows, so a module gets copies. */
function copyOfValues(values: readonly JsonValue[]): JsonValue[] {
  return structuredClone([...values]);
}
