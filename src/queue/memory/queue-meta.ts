import type { IQueueBackend } from 'bullmq';
import { refuseLimits } from './absent-features.ts';

type QueueMeta = Pick<
  IQueueBackend,
  | 'setQueueMeta'
  | 'getQueueMetaField'
  | 'getQueueMetaFields'
  | 'getQueueMeta'
  | 'removeQueueMetaFields'
  | 'hasQueueMetaField'
>;

/** The part of BullMQ's interface for the data of a queue itself. */
export function createQueueMeta(stored: Map<string, string>): QueueMeta {
  return {
    async setQueueMeta(values) {
      refuseLimits(values);
      const known = stored.size;
      for (const [field, value] of Object.entries(values)) stored.set(field, `${value}`);
      return stored.size - known;
    },
    getQueueMetaField: async (field) => stored.get(field) ?? null,
    getQueueMetaFields: async (fields) => fields.map((field) => stored.get(field) ?? null),
    getQueueMeta: async () => Object.fromEntries(stored),
    removeQueueMetaFields: async (fields) => fields.filter((field) => stored.delete(field)).length,
    hasQueueMetaField: async (field) => stored.has(field),
  };
}
