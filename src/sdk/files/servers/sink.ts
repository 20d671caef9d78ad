import { createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import type { DownloadTarget } from './file-server.ts';

/** The stream that a download is written to. It fails if the target or the disk accepts no more bytes. */
export function createSink(target: DownloadTarget): Writable {
  let bytes = 0;
  const file = createWriteStream(target.path, { mode: 0o600 });
  // The callback of a write reports its failure, so the event needs no further handling.
  file.on('error', () => undefined);
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      try {
        target.progress(bytes);
      } catch (error) {
        done(error as Error);
        return;
      }
      file.write(chunk, done);
    },
    final: (done) => void file.end(done),
    destroy(error, done) {
      file.destroy();
      done(error);
    },
  });
}
