import type { Runtime } from '../daemon/runtime.ts';

/** Call it after a manual resolution. Workers that run then send the deliveries that became due, those of passports included. */
export function goOn({ passports, engine }: Pick<Runtime, 'passports' | 'engine'>): void {
  passports.markDirty();
  engine.wake();
}
