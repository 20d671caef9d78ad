import { AsyncLocalStorage } from 'node:async_hooks';

/** The entry of the audit log that was written for a request. */
export interface CurrentAction {
  id: number;
  /** True if a task has taken over the entry. The task then writes the outcome when it ends. */
  taken: boolean;
}

const current = new AsyncLocalStorage<CurrentAction>();

/** Runs the handler of a request whose action has an entry in the audit log. */
export function withAction<Result>(action: CurrentAction, run: () => Promise<Result>): Promise<Result> {
  return current.run(action, run);
}

/** Gives the entry of the present request to a task; null if there is none, or another task has it. */
export function takeAction(): number | null {
  const action = current.getStore();
  if (action === undefined || action.taken) return null;
  action.taken = true;
  return action.id;
}
