import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DiskEvent } from './disk-recording.ts';

/** The disk writes each unit of this size either completely or not at all. */
const SECTOR_BYTES = 512;

/**
 * A disk that is certain to keep only synced data. An fsync of a file keeps its content, and one of its folder keeps
 * its name. After a power cut, any combination of the other changes may be on the disk.
 */
export interface LossyDisk {
  apply(event: DiskEvent): void;
  /**
   * The files after a power cut at this moment, by path, without folders.
   *
   * @param kept decides for each sector, size and name that was not synced whether it has reached the disk
   */
  afterPowerCut(kept: () => boolean): Map<string, Buffer>;
}

type Change = { type: 'write'; offset: number; bytes: Buffer } | { type: 'truncate'; size: number };

interface Entry {
  durable: Buffer;
  /** Changes of the content since the last sync. */
  changes: Change[];
  /** True if the folder on the disk contains the name. */
  named: boolean;
  /** True if the file was removed since the last sync of the folder. */
  removed: boolean;
  /** A removed file of the same name. The disk may still have that file instead of this one. */
  before: Entry | null;
}

/** Makes a disk on which these folders exist. */
export function createLossyDisk(existing: readonly string[]): LossyDisk {
  const files = new Map<string, Entry>();
  /** Existing folders. The value is true if the folder is certain to survive a power cut. */
  const folders = new Map<string, boolean>(existing.map((path) => [path, true]));

  function fileAt(path: string): Entry {
    const known = files.get(path);
    if (known && !known.removed) return known;
    const fresh = { durable: Buffer.alloc(0), changes: [], named: false, removed: false, before: known ?? null };
    files.set(path, fresh);
    return fresh;
  }

  function syncFolder(path: string): void {
    for (const [file, entry] of files) {
      if (dirname(file) !== path) continue;
      if (entry.removed) files.delete(file);
      else Object.assign(entry, { named: true, before: null });
    }
    for (const folder of folders.keys()) if (dirname(folder) === path) folders.set(folder, true);
  }

  return {
    apply(event) {
      const { path } = event;
      switch (event.type) {
        case 'create':
          fileAt(path);
          break;
        case 'mkdir':
          folders.set(path, false);
          break;
        case 'unlink':
          fileAt(path).removed = true;
          break;
        case 'sync':
          if (folders.has(path)) syncFolder(path);
          else {
            const file = fileAt(path);
            file.durable = contentOf(file, () => true);
            file.changes = [];
          }
          break;
        case 'failed-sync':
          // Linux reports the failure once. After that the pages count as written, and no later fsync writes them.
          if (!folders.has(path)) fileAt(path).changes = [];
          break;
        case 'append':
          throw new Error(`${path} is written without a place, which this disk does not follow.`);
        case 'write':
        case 'truncate':
          fileAt(path).changes.push(event);
      }
    },

    afterPowerCut(kept) {
      const lost = new Set([...folders].filter(([, certain]) => !certain && !kept()).map(([path]) => path));
      const left = new Map<string, Buffer>();
      for (const [path, entry] of files) {
        const survivor = lost.has(dirname(path)) ? null : survivorOf(entry, kept);
        if (survivor) left.set(path, contentOf(survivor, kept));
      }
      return left;
    },
  };
}

/** The file with this name after a power cut; null if no file has it. */
function survivorOf(entry: Entry, kept: () => boolean): Entry | null {
  const appeared = entry.named || kept();
  if (!appeared) return entry.before && survivorOf(entry.before, kept);
  return entry.removed && kept() ? null : entry;
}

function contentOf({ durable, changes }: Entry, kept: () => boolean): Buffer {
  return changes.reduce((content, change) => changed(content, change, kept), durable);
}

/** Writes files into empty folders. */
export function writeFiles(files: ReadonlyMap<string, Buffer>): void {
  for (const [path, content] of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

function changed(content: Buffer, change: Change, kept: () => boolean): Buffer {
  if (change.type === 'truncate') return kept() ? resized(content, change.size) : content;
  const { offset, bytes } = change;
  let result = content;
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + SECTOR_BYTES - ((offset + from) % SECTOR_BYTES));
    if (kept()) {
      result = resized(result, Math.max(result.length, offset + to));
      bytes.copy(result, offset + from, from, to);
    }
    from = to;
  }
  return result;
}

/** A copy of the content with this size. Zeros fill the added part. */
function resized(content: Buffer, size: number): Buffer {
  const copy = Buffer.alloc(size);
  content.copy(copy);
  return copy;
}
