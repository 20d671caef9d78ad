import { readFileSync } from 'node:fs';

/** A call that took effect on a file or folder, or an fsync that failed. */
export type DiskEvent =
  | { type: 'create' | 'unlink' | 'mkdir' | 'sync' | 'failed-sync'; path: string }
  | { type: 'write'; path: string; offset: number; bytes: Buffer }
  | { type: 'append'; path: string; bytes: Buffer }
  | { type: 'truncate'; path: string; size: number };

// strace writes process ids into a column of fixed width, so more than one space follows a short id.
const CALL = /^(\d+) +(\w+)\((.*)\) += (-?\d+|\?)/;
const UNFINISHED = /^(\d+) +(\w+\(.*) <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. \w+ resumed>(.*)$/;

/**
 * Reads the calls that `runTraced` has recorded, in the order in which they ended. A call that did not end had no
 * effect.
 */
export function readDiskRecording(file: string): DiskEvent[] {
  const begun = new Map<string, string>();
  const events: DiskEvent[] = [];
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    const [, startedBy, start] = UNFINISHED.exec(line) ?? [];
    if (startedBy !== undefined && start !== undefined) {
      begun.set(startedBy, start);
      continue;
    }
    const [, endedBy = '', end] = RESUMED.exec(line) ?? [];
    const event = eventOf(end === undefined ? line : `${endedBy} ${begun.get(endedBy) ?? ''}${end}`);
    if (event) events.push(event);
  }
  return events;
}

function eventOf(line: string): DiskEvent | null {
  const [, , call = '', args = '', result = '?'] = CALL.exec(line) ?? [];
  const failed = result.startsWith('-');
  const syncs = call === 'fsync' || call === 'fdatasync';
  if (result === '?' || (failed && !syncs)) return null;
  const path = decoded(/^\d+<([^>]*)>/.exec(args)?.[1] ?? /"([^"]*)"/.exec(args)?.[1] ?? '').toString();
  switch (call) {
    case 'openat':
      return args.includes('O_CREAT') ? { type: 'create', path } : null;
    case 'pwrite64':
      return { type: 'write', path, offset: lastNumber(args), bytes: bytesOf(args) };
    case 'write':
      return { type: 'append', path, bytes: bytesOf(args) };
    case 'ftruncate':
      return { type: 'truncate', path, size: lastNumber(args) };
    case 'fsync':
    case 'fdatasync':
      return { type: failed ? 'failed-sync' : 'sync', path };
    case 'unlink':
    case 'mkdir':
      return { type: call, path };
    default:
      throw new Error(`A call that is not known to change a disk: ${line.slice(0, 200)}`);
  }
}

function bytesOf(args: string): Buffer {
  const [, hex = '', cut = ''] = /"([^"]*)"(\.*)/.exec(args) ?? [];
  if (cut !== '') throw new Error('strace has cut the bytes of a call.');
  return decoded(hex);
}

function decoded(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

function lastNumber(args: string): number {
  return Number(args.slice(args.lastIndexOf(',') + 1));
}
