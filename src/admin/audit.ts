import { userInfo } from 'node:os';
import type { PeopleLedger } from '../domain/ports/ledger/care-ledger.ts';
import { messageOf } from '../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { Operation } from '../operations/operation.ts';

interface AuditedCommand<Request> {
  operation: Operation<Request, unknown>;
  request: Request;
  who: string;
}

/** The user of the system in whose name this process runs. A container may have no name for the user. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Does the work of a command, between two writes to the audit log. An operation that only reads has no entry.
 *
 * @throws the error of `work`, or the error of a ledger that cannot store the entry; then the work has not begun
 */
export async function auditCommand<Request, Result>(
  { operation, request, who }: AuditedCommand<Request>,
  { ledger, secrets }: { ledger: PeopleLedger; secrets: SecretStore },
  work: () => Promise<Result>,
): Promise<Result> {
  if (operation.kind === 'look' || operation.kind === 'file') return work();
  const detail = detailOf(operation.detail?.(request) ?? request, secrets);
  const id = await ledger.beginAction({ who, via: 'command', action: operation.action ?? operation.name, detail });
  const end = (outcome: string) =>
    // The work is done, so a failure to end its entry is ignored. The next process that opens the ledger ends such an
    // entry.
    ledger.endAction(id, secrets.scrub(outcome)).catch(() => undefined);
  try {
    const result = await work();
    await end(outcomeOf(operation.exitCode?.(result) ?? 0, result));
    return result;
  } catch (error) {
    await end(`Failed: ${messageOf(error)}`);
    throw error;
  }
}

/** What the exit code of a command means. A result that failed in part has its fault as a member. */
function outcomeOf(exitCode: number, result: unknown): string {
  if (exitCode === 0) return 'Done.';
  if (exitCode === 4) return 'Done, and something needs attention.';
  const { fault = null } = result as { fault?: { message: string } | null };
  return fault === null ? `Not finished: exit code ${exitCode}.` : `Not finished: ${fault.message}`;
}

const TEXT_MAX = 200;
const LIST_MAX = 20;
/** Fields of forms that are secret or do not describe the action. */
const LEFT_OUT = /^(csrf|password|token|secret)$/i;

/** The values of a request for the audit log, shortened and without secrets (I7, I9). */
export function detailOf(request: unknown, secrets: SecretStore): JsonObject {
  if (typeof request !== 'object' || request === null) return {};
  return Object.fromEntries(
    Object.entries(request)
      .filter(([name]) => !LEFT_OUT.test(name))
      .map(([name, value]) => [name, shortened(value, secrets)]),
  );
}

function shortened(value: unknown, secrets: SecretStore): string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  const shown = (one: unknown): string => textOf(one, secrets);
  return Array.isArray(value) ? listText(value.slice(0, LIST_MAX).map(shown), value.length) : cut(shown(value));
}

/** The first of `count` members, as many as fit as a whole, and how many more there are. */
function listText(first: readonly string[], count: number): string {
  let named = first.length;
  while (named > 1 && first.slice(0, named).join(', ').length > TEXT_MAX) named -= 1;
  return cut(first.slice(0, named).join(', ')) + (named === count ? '' : ` and ${count - named} more`);
}

/** The members that the text of a list in the audit log names, and its words about those that it leaves out. */
export function namedMembers(text: string): { members: string[]; more: string } {
  const [more = ''] = / and \d+ more$/.exec(text) ?? [];
  return { members: text.slice(0, text.length - more.length).split(', '), more };
}

/** Each value is scrubbed by itself, so that a key of an item stays the key that a person can look for. */
function textOf(value: unknown, secrets: SecretStore): string {
  if (!isJsonObject(value) && !Array.isArray(value)) return secrets.scrubValue(String(value));
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'string' ? secrets.scrubValue(member) : member,
  );
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}
