import type { Runtime } from '../daemon/runtime.ts';

/**
 * Call it after a manual resolution. Running workers then send the deliveries that became due, including those of
 * passports.
 */
export function goOn({ passports, engine }: Pick<Runtime, 'passports' | 'engine'>): void {
  passports.markDirty();
  engine.wake();
}
