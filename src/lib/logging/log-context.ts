// Fields that every line of the log has while some work goes on, such as the source and the run. They follow the work through its
// promises, so that a connector's lines have them as well.

import { AsyncLocalStorage } from 'node:async_hooks';

type Fields = Record<string, string | number>;

const storage = new AsyncLocalStorage<Fields>();

/** Does the work with these fields on each line, besides those of the work around it. */
export function withLogFields<T>(fields: Fields, work: () => T): T {
  const around = storage.getStore();
  // What the work adds later is then also on the lines of the work around it, which is about the same.
  const isSame = around !== undefined && Object.entries(fields).every(([name, value]) => around[name] === value);
  return isSame ? work() : storage.run({ ...around, ...fields }, work);
}

/** Adds fields that have become known to all further lines of the work in progress; nothing outside of such work. */
export function addLogFields(fields: Fields): void {
  const around = storage.getStore();
  if (around !== undefined) Object.assign(around, fields);
}

/** The fields of the work in progress. */
export function logFields(): Fields {
  return storage.getStore() ?? {};
}
