import type { ProgressEvent } from '../domain/ports/progress.ts';

/** Computes how many rows each page of a run has read, because an event reports the sum of the stream. */
export function createRowsRead() {
  const readBefore = new Map<string, Map<string, number>>();
  return {
    of({ source, stream, read }: ProgressEvent & { type: 'page' }): number {
      const streams = readBefore.get(source) ?? new Map<string, number>();
      const rows = Math.max(0, read - (streams.get(stream) ?? 0));
      readBefore.set(source, streams.set(stream, read));
      return rows;
    },
    /** Call it when a run has ended, because the next run counts from 0. */
    ended: (source: string) => void readBefore.delete(source),
  };
}
