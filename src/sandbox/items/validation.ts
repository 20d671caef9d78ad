import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { type Answer, invalid, refusal } from '../api/operation.ts';

/** The name for errors that do not concern a single field. */
const NON_FIELD = 'non_field_errors';

/** At most this many unknown fields are named in an answer, so that a hostile body is not repeated completely. */
const UNKNOWN_FIELDS_MAX = 50;

/** Validates a request body. Its problems become the 400 for the client. */
export function validate<T>(schema: z.ZodType<T>, body: unknown): Result<T, Answer> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return ok(parsed.data);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const message = `Invalid data. Expected a dictionary, but got ${pythonTypeOf(body)}.`;
    return err(invalid({ [NON_FIELD]: [message] }));
  }
  return err(invalid(fieldErrors(parsed.error.issues)));
}

interface ErrorNode {
  messages: string[];
  members: Map<PropertyKey, ErrorNode>;
}

function fieldErrors(issues: z.core.$ZodIssue[]): JsonObject {
  const root = emptyNode();
  for (const issue of issues) {
    const node = issue.path.reduce(memberOf, root);
    if (issue.code === 'unrecognized_keys') {
      for (const name of issue.keys.slice(0, UNKNOWN_FIELDS_MAX)) memberOf(node, name).messages.push('Unknown field.');
    } else {
      (node === root ? memberOf(root, NON_FIELD) : node).messages.push(issue.message);
    }
  }
  return membersOf(root);
}

function emptyNode(): ErrorNode {
  return { messages: [], members: new Map() };
}

function memberOf(node: ErrorNode, name: PropertyKey): ErrorNode {
  const known = node.members.get(name);
  if (known) return known;
  const created = emptyNode();
  node.members.set(name, created);
  return created;
}

/**
 * Renders the problems of a body. For a list of objects it is a list up to the last bad element, with `{}` for each
 * good element before it.
 */
function render(node: ErrorNode): JsonValue {
  if (node.messages.length > 0) return [...new Set(node.messages)];
  const indexes = [...node.members.keys()].filter((name) => typeof name === 'number');
  if (indexes.length === 0) return membersOf(node);
  return Array.from({ length: Math.max(...indexes) + 1 }, (_, index) => {
    const member = node.members.get(index);
    if (!member) return {};
    return member.messages.length > 0 ? { [NON_FIELD]: member.messages } : membersOf(member);
  });
}

function membersOf(node: ErrorNode): JsonObject {
  return Object.fromEntries([...node.members].map(([name, member]) => [String(name), render(member)]));
}

function pythonTypeOf(value: unknown): string {
  if (value === null || value === undefined) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return typeof value === 'boolean' ? 'bool' : 'str';
}

/** How the sandbox treats a second item with the same key. The document leaves this open. */
export const Duplicates = z.strictObject({
  taken: z
    .boolean()
    .default(false)
    .describe(
      'Whether a second product or material with the same SKU, code or name is accepted as a new item. This setting needs storage in memory.',
    ),
  status: z
    .union([z.literal(400), z.literal(409), z.literal(422)])
    .default(400)
    .describe('The status of the refusal.'),
  detail: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'The text of the answer. It need not mention the existing item. With null the answer names the field, like Django REST Framework.',
    ),
});
export type Duplicates = z.infer<typeof Duplicates>;

/** Refuses a second `noun` with the same value of `field`. */
export function duplicate(noun: string, field: string, { status, detail }: Duplicates): Answer {
  if (detail !== null) return refusal(status, detail);
  return { ...invalid({ [field]: [`${noun} with this ${field} already exists.`] }), status };
}
