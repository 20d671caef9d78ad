import type { DaemonNotes } from '../../domain/ports/daemon-notes.ts';
import { parseJson } from './context.ts';
import { readMeta, removeMeta, writeMeta } from './meta.ts';
import type { Reads, Tx } from './tx.ts';

const nameOf = (name: keyof DaemonNotes): string => `daemon_${name}`;

/** Stores a note of the daemon; null removes it. */
export function writeDaemonNote<Name extends keyof DaemonNotes>(
  tx: Tx,
  name: Name,
  note: DaemonNotes[Name] | null,
): void {
  if (note === null) removeMeta(tx, nameOf(name));
  else writeMeta(tx, nameOf(name), JSON.stringify(note));
}

export function readDaemonNote<Name extends keyof DaemonNotes>(
  reads: Pick<Reads, 'db'>,
  name: Name,
): DaemonNotes[Name] | null {
  const text = readMeta(reads, nameOf(name));
  return text === null ? null : parseJson<DaemonNotes[Name]>(text);
}
