import type { Runtime } from '../daemon/runtime.ts';

/** After a manual resolution: what became due by it, passports included, is sent at once where workers run. */
export function goOn({ passports, engine }: Pick<Runtime, 'passports' | 'engine'>): void {
  passports.markDirty();
  engine.wake();
}
