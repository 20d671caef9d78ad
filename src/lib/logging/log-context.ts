// Fields that every line of the log has during some work, such as the source and the run. They also apply in the
// promises of the work, so the lines of a connector have them too.

import { AsyncLocalStorage } from 'node:async_hooks';

type Fields = Record<string, string | number>;

const storage = new AsyncLocalStorage<Fields>();

/** Does the work with these fields on each line, besides those of the work around it. */
export function withLogFields<T>(fields: Fields, work: () => T): T {
  const around = storage.getStore();
  // Then fields that the inner work adds later are also on the lines of the outer work, because both are about the
  // same.
  const isSame = around !== undefined && Object.entries(fields).every(([name, value]) => around[name] === value);
  return isSame ? work() : storage.run({ ...around, ...fields }, work);
}

/** Does work that is about more than the work in progress: its lines have none of the fields. */
export function withoutLogFields<T>(work: () => T): T {
  return storage.exit(work);
}

/** Adds fields to all further lines of the work in progress. Does nothing outside of such work. */
export function addLogFields(fields: Fields): void {
  const around = storage.getStore();
  if (around !== undefined) Object.assign(around, fields);
}

/** The fields of the work in progress. */
export function logFields(): Fields {
  return storage.getStore() ?? {};
}
