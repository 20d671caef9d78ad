import { userInfo } from 'node:os';
import type { PeopleLedger } from '../../domain/ports/ledger/people-ledger.ts';
import { messageOf } from '../../lib/errors.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import type { Handler } from '../handler.ts';
import { detailOf } from './detail.ts';

interface AuditedCommand<Request> {
  handler: Pick<Handler<Request, unknown>, 'name' | 'isRead' | 'detail'>;
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
 * Does the work of a command, between two writes to the audit log. A handler that only reads has no entry.
 *
 * @throws the error of `work`, or the error of a ledger that cannot store the entry; then the work has not begun
 */
export async function auditCommand<Request, Result>(
  { handler, request, who }: AuditedCommand<Request>,
  { ledger, secrets }: { ledger: Pick<PeopleLedger, 'beginAction' | 'endAction'>; secrets: SecretStore },
  work: () => Promise<Result>,
): Promise<Result> {
  if (handler.isRead === true) return work();
  const detail = detailOf(handler.detail?.(request) ?? request, secrets);
  const id = await ledger.beginAction({ who, via: 'command', action: handler.name, detail });
  const end = (outcome: string) =>
    // The work is done, so a failure to end its entry is ignored. The next process that opens the ledger ends such an
    // entry.
    ledger.endAction(id, secrets.scrub(outcome)).catch(() => undefined);
  try {
    const result = await work();
    await end('Done.');
    return result;
  } catch (error) {
    await end(`Failed: ${messageOf(error)}`);
    throw error;
  }
}
