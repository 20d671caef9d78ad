import type { DaemonNotes } from '../../domain/ports/daemon-notes.ts';
import { parseJson } from './context.ts';
import type { Meta } from './meta.ts';

const nameOf = (name: keyof DaemonNotes): string => `daemon_${name}`;

/** Stores a note of the daemon; null removes it. Call it inside a transaction. */
export function writeDaemonNote<Name extends keyof DaemonNotes>(
  meta: Pick<Meta, 'set' | 'remove'>,
  name: Name,
  note: DaemonNotes[Name] | null,
): void {
  if (note === null) meta.remove(nameOf(name));
  else meta.set(nameOf(name), JSON.stringify(note));
}

export function readDaemonNote<Name extends keyof DaemonNotes>(
  meta: Pick<Meta, 'get'>,
  name: Name,
): DaemonNotes[Name] | null {
  const text = meta.get(nameOf(name));
  return text === null ? null : parseJson<DaemonNotes[Name]>(text);
}
