import { randomBytes } from 'node:crypto';
import type { CorrectionPlan } from '../../../daemon/uploads/plan-corrections.ts';
import type { Clock } from '../../../lib/clock.ts';

/** A corrected file that a person has uploaded but not yet confirmed. */
export interface Upload {
  id: string;
  cause: string;
  source: string;
  stream: string;
  fileName: string;
  /** The person who has uploaded the file. Only this person may confirm it. */
  who: string;
  plan: CorrectionPlan;
}

/**
 * The uploads that wait in memory for a person's confirmation. Their number and their age are bounded (I9). Nothing is
 * stored before the confirmation.
 */
export interface Uploads {
  add(upload: Omit<Upload, 'id'>): Upload;
  get(id: string): Upload | null;
  /** Removes and returns an upload, so that it is confirmed only once. */
  take(id: string): Upload | null;
}

const UPLOADS_MAX = 10;
const KEPT_MS = 30 * 60_000;

export function createUploads(clock: Clock): Uploads {
  const kept = new Map<string, { upload: Upload; at: number }>();

  function get(id: string): Upload | null {
    const found = kept.get(id);
    return found === undefined || clock.ticks() - found.at > KEPT_MS ? null : found.upload;
  }

  return {
    add(given) {
      const upload = { ...given, id: randomBytes(16).toString('hex') };
      kept.set(upload.id, { upload, at: clock.ticks() });
      for (const [id, { at }] of kept) {
        if (kept.size > UPLOADS_MAX || clock.ticks() - at > KEPT_MS) kept.delete(id);
      }
      return upload;
    },
    get,
    take(id) {
      const upload = get(id);
      kept.delete(id);
      return upload;
    },
  };
}
