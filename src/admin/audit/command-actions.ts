import { userInfo } from 'node:os';
import type { PeopleLedger } from '../../domain/ports/ledger/people-ledger.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Handler } from '../handler.ts';
import { detailOf } from './detail.ts';

interface AuditedCommand {
  handler: Pick<Handler<never, unknown>, 'name' | 'isRead'>;
  request: unknown;
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
 * Does what a command asks for, between two writes to the audit log. A handler that only reads has no entry.
 *
 * @throws what `work` throws, or the error of a ledger that cannot take the entry: then the work has not begun
 */
export async function auditCommand<Result>(
  { handler, request, who }: AuditedCommand,
  { ledger, scrub }: { ledger: Pick<PeopleLedger, 'beginAction' | 'endAction'>; scrub: (text: string) => string },
  work: () => Promise<Result>,
): Promise<Result> {
  if (handler.isRead === true) return work();
  const detail = detailOf(request, scrub);
  const id = await ledger.beginAction({ who, via: 'command', action: handler.name, detail });
  const end = (outcome: string) =>
    // The work is done, whether the entry says so or not. The next process that has the ledger ends an entry that was left.
    ledger.endAction(id, scrub(outcome)).catch(() => undefined);
  try {
    const result = await work();
    await end('Done.');
    return result;
  } catch (error) {
    await end(`Failed: ${messageOf(error)}`);
    throw error;
  }
}
