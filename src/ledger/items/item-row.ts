import type { SubjectKind } from '../../domain/item.ts';

/** An item, as a statement over `ITEM_COLUMNS` gives it. */
export interface ItemRow {
  id: number;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  recordId: number | null;
  desired: string;
  desiredHash: string;
  baseline: string | null;
  baselineHash: string | null;
  remoteId: string | null;
  revision: number;
  missingSince: number | null;
  /** Of a write that a person has ended although the platform does not have it; null for all other items. */
  ignoredHash: string | null;
  /** 1 where it was at the platform before, differs from what is desired, and no person has accepted the change. */
  adopted: 0 | 1;
  source: string;
}

export const ITEM_COLUMNS = `id, kind, key, natural_key AS naturalKey, record_id AS recordId, desired, desired_hash AS desiredHash,
  baseline, baseline_hash AS baselineHash, remote_id AS remoteId, revision, missing_since AS missingSince,
  ignored_hash AS ignoredHash, adopted, source`;
