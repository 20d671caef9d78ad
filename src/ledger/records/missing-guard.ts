import type { MissingGuard } from '../../domain/ports/intake.ts';

/** The figures of a complete read. */
export interface CompleteRead {
  /** How many records were present before, and how many of these the export does not have. */
  present: number;
  missing: number;
  /** How many rows the export has, and how many the last whole export had. */
  read: number;
  before: number | null;
  guard: MissingGuard;
}

/**
 * Returns why a complete read is taken for a broken export; null if it is not. Nothing is marked as missing after a
 * broken export.
 */
export function guardAgainst(read: CompleteRead): string | null {
  const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;
  const missingShare = read.present === 0 ? 0 : read.missing / read.present;
  if (read.missing > 0 && missingShare > read.guard.maxMissing) {
    return `${read.missing} of ${read.present} records are missing from this export (${percent(missingShare)}, allowed are ${percent(read.guard.maxMissing)}), so none of them was marked as missing.`;
  }
  const drop = read.before === null || read.before === 0 ? 0 : 1 - read.read / read.before;
  if (drop > read.guard.maxDrop) {
    return `This export has ${read.read} rows where the last one had ${read.before} (${percent(drop)} less, allowed are ${percent(read.guard.maxDrop)}), so no record was marked as missing.`;
  }
  return null;
}
