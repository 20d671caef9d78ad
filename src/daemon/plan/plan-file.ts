// The lines of a plan: what it depends on, each item, and the sum. `plan --out` writes them, and `sync --plan` reads them.

import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import { SUBJECT_KINDS } from '../../domain/item.ts';
import { PLANNED_ACTIONS, PLANNED_WRITES, type PlannedItem } from '../../domain/plan.ts';
import { type Fault, fileReasonOf } from '../../lib/errors.ts';
import { sha256Url } from '../../lib/hash.ts';
import { canonicalJson, type JsonObject } from '../../lib/json.ts';
import { Json } from '../../lib/json-schema.ts';

/** A longer line is no item: a payload has at most some hundred kilobytes. */
const LINE_MAX = 16_000_000;

const Head = z.object({
  type: z.literal('plan'),
  version: z.literal(1),
  of: z.enum(['sync', 'config', 'run']),
  sources: z.array(z.string()),
});
const ItemLine = z.looseObject({
  type: z.literal('item'),
  action: z.enum(PLANNED_ACTIONS),
  kind: z.enum(SUBJECT_KINDS),
  key: z.string(),
  naturalKey: z.string().nullable(),
  source: z.string().nullable(),
  revision: z.number().int().optional(),
  fields: z.record(z.string(), z.object({ old: Json.optional(), new: Json.optional() })),
});
const Digests = z.record(z.string(), z.string());
const Basis = z.object({
  target: z.string(),
  profile: z.string(),
  rules: z.string(),
  values: z.string(),
  mappings: Digests,
  lookups: Digests,
  contents: Digests,
});
const Summary = z.object({
  type: z.literal('summary'),
  basis: Basis,
  writes: z.object({ count: z.number(), digest: z.string() }),
});

/** Digests of all that a plan depends on besides the ledger, each by its name. */
export type PlanBasis = z.infer<typeof Basis>;

/** A plan that was read from a file, without its items. */
export interface StoredPlan
  extends Pick<z.infer<typeof Head>, 'of' | 'sources'>,
    Omit<z.infer<typeof Summary>, 'type'> {}

/** Sums up the writes of a plan, whatever their order. */
export function createWriteSum() {
  let count = 0;
  let sum = 0n;
  return {
    add(item: PlannedItem): void {
      if (!PLANNED_WRITES.includes(item.action)) return;
      count += 1;
      sum = BigInt.asUintN(64, sum + digestOf(item));
    },
    writes: () => ({ count, digest: sum.toString(36) }),
  };
}

/** A digest of the parts of an item that decide what is sent. */
export function digestOf({ action, kind, key, source, revision = 0, fields, refs = [] }: PlannedItem): bigint {
  const text = canonicalJson({ action, kind, key, source, revision, fields, refs } as unknown as JsonObject);
  return Buffer.from(sha256Url(text), 'base64url').readBigUInt64BE();
}

/**
 * Reads the file of a plan, and gives each of its items to a function.
 *
 * @throws Fault `usage` with the line, if it is no plan or was changed
 */
export async function readPlanFile(file: string, onItem: (item: PlannedItem) => void): Promise<StoredPlan> {
  let head: z.infer<typeof Head> | null = null;
  let summary: z.infer<typeof Summary> | null = null;
  const writes = createWriteSum();
  let number = 0;
  for await (const text of linesOf(file)) {
    number += 1;
    if (text === '') continue;
    if (summary !== null) throw planFault(file, number, 'there is a line behind the summary, which is the last line');
    const line = parsed(file, number, text);
    if (head === null) head = checked(Head, line, { file, number });
    else if (line['type'] === 'item') {
      const { type: _, ...item } = checked(ItemLine, line, { file, number });
      writes.add(item as PlannedItem);
      onItem(item as PlannedItem);
    } else summary = checked(Summary, line, { file, number });
  }
  if (head === null) throw planFault(file, 1, 'the file is empty');
  if (summary === null)
    throw planFault(file, number, 'the last line is no summary, so the plan was not written to its end');
  const { count, digest } = writes.writes();
  if (count !== summary.writes.count || digest !== summary.writes.digest) {
    throw planFault(file, number, 'the items are not those that were planned: the file was changed');
  }
  return { of: head.of, sources: head.sources, basis: summary.basis, writes: summary.writes };
}

function parsed(file: string, number: number, text: string): JsonObject {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw planFault(file, number, 'this is no JSON object');
}

function checked<Schema extends z.ZodType>(
  schema: Schema,
  line: JsonObject,
  { file, number }: { file: string; number: number },
): z.output<Schema> {
  const result = schema.safeParse(line);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw planFault(file, number, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not as expected'}`);
}

function planFault(file: string, line: number, what: string): Fault {
  return fault('usage', `${file}, line ${line}: ${what}.`, {
    suggestion: 'Name a file that `dpp-sync plan --out FILE` has written, unchanged.',
  });
}

async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  let number = 1;
  try {
    for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_MAX) throw planFault(file, number + lines.length, 'this line is too long');
      number += lines.length;
      yield* lines;
    }
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) {
      throw fault('usage', `${file} cannot be read: ${fileReasonOf(error)}.`, {
        suggestion: 'Name a file that `dpp-sync plan --out FILE` has written.',
        cause: error,
      });
    }
    throw error;
  }
  if (rest !== '') yield rest;
}
