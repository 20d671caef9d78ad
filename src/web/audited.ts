import { AsyncLocalStorage } from 'node:async_hooks';
import { detailOf } from '../admin/audit.ts';
import type { PeopleLedger } from '../domain/ports/ledger/care-ledger.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { answerOf } from './web-fault.ts';

export interface AuditParts {
  people: PeopleLedger;
  log: Logger;
  secrets: SecretStore;
}

export interface AuditedRequest {
  who: string;
  via: 'web' | 'api';
  /** The name of the action in the audit log. */
  action: string;
  /** The values of the request that the audit log keeps. */
  request: object;
}

/** The entry of the audit log that was written for a request. */
interface CurrentAction {
  id: number;
  /** True if a task has taken over the entry. The task then writes the outcome when it ends. */
  taken: boolean;
}

/** The entry of the request whose handler runs. */
const current = new AsyncLocalStorage<CurrentAction>();

/** Writes the action of a person to the audit log before it begins, and its result afterwards. */
export async function audited<Answer>(
  { who, via, action, request }: AuditedRequest,
  { people, log, secrets }: AuditParts,
  { work, outcomeOf }: { work: () => Promise<Answer>; outcomeOf: (answer: Answer) => string },
): Promise<Answer> {
  const id = await people.beginAction({ who, via, action, detail: detailOf(request, secrets) });
  const entry: CurrentAction = { id, taken: false };
  const end = async (outcome: string) => {
    try {
      if (!entry.taken) await people.endAction(id, secrets.scrub(outcome));
    } catch (error) {
      log.warn({ err: error, action }, 'The end of an action could not be written to the audit log.');
    }
  };
  try {
    const answer = await current.run(entry, work);
    await end(outcomeOf(answer));
    return answer;
  } catch (error) {
    await end(`Failed: ${answerOf(error).message ?? 'the log has the reason.'}`);
    throw error;
  }
}

/** The outcome of an action that was answered with this status. */
export function outcomeOfStatus(status: number): string {
  return status >= 400 ? `Refused with status ${status}.` : 'Done.';
}

/** Gives the entry of the present request to a task; null if there is none, or another task has it. */
export function takeAction(): number | null {
  const action = current.getStore();
  if (action === undefined || action.taken) return null;
  action.taken = true;
  return action.id;
}
