import { type ConnectorHost, type Page, sourceFault } from '../connector.ts';
import type { SizedPage } from '../page-buffer.ts';
import { acknowledgeFiles, assertSettings, type StreamRead } from './acknowledge-files.ts';
import type { FileSource, FileStream } from './file-options.ts';
import type { FileServer, FileStore } from './file-store.ts';
import { findReady, isSkipped, type ReadyFiles } from './find-files.ts';
import { createLocalStore } from './local-store.ts';
import { type Location, locate, type ServerAddress } from './location.ts';
import type { OpenFile } from './open-file.ts';
import { openParts } from './open-parts.ts';
import { createRemoteStore } from './remote-store.ts';
import { type SourceFile, timeOf } from './source-file.ts';
import { createTemporaryFiles, type TemporaryFiles } from './temporary-files.ts';

/** The location of a stream's files, and the files that can be read now. */
export interface FoundFiles extends ReadyFiles {
  location: Location;
  store: FileStore;
  /** True if there is nothing to read and this is not a failure. */
  isSkipped: boolean;
}

interface ReadFrom {
  store: FileStore;
  stream: FileStream;
  signal: AbortSignal;
  read: (file: OpenFile) => AsyncIterable<Page>;
}

/**
 * The files of one opened source.
 *
 * @param document the entry by which a ZIP file is recognised as a file of the format
 */
export function openFileSource(options: FileSource, host: ConnectorHost, document: string | undefined) {
  const { folder } = options.downloads;
  const temporary = createTemporaryFiles(folder === undefined ? undefined : host.resolvePath(folder));
  const stores = new Map<string, Promise<FileStore>>();
  const reads = new Map<string, StreamRead>();

  /** Streams of one server share its connection. */
  function storeOf(location: Location): Promise<FileStore> {
    const { server } = location;
    const id = server === null ? location.pattern : `${server.scheme}://${server.host}:${server.port}`;
    const store = stores.get(id) ?? openStore(location, { options, temporary });
    stores.set(id, store);
    return store;
  }

  return {
    /** @throws a `sourceFault` if there is no file to read, unless the options of the stream allow it */
    async find(name: string, stream: FileStream, signal: AbortSignal): Promise<FoundFiles> {
      signal.throwIfAborted();
      const location = locate(stream.path, (path) => host.resolvePath(path));
      assertSettings(stream, location);
      const store = await storeOf(location);
      const ready = await findReady({ store, location, stream }, signal);
      const skipped = ready.absent !== null && isSkipped(stream);
      if (ready.absent !== null && !skipped) throw ready.absent;
      if (stream.contents === 'changes') for (const file of ready.files) assertVersioned(file);
      return { ...ready, location, store, isSkipped: skipped };
    },
    /**
     * Reads the pages of one file, which may be on a server, and may be packed.
     *
     * @param read reads the rows of a file of this machine
     */
    async *read(file: SourceFile, { store, stream, signal, read }: ReadFrom): AsyncGenerator<SizedPage> {
      const copy = await store.copy(file, signal);
      try {
        const { bytes: total } = copy.file;
        const unpacking = { entry: stream.entry, limits: options.unpacking, temporary, document };
        for await (const part of openParts(copy.file, unpacking)) {
          let given = 0;
          for await (const page of read(part.file)) {
            const unpacked = part.unpacked();
            const bytes = unpacked === null ? Number.POSITIVE_INFINITY : unpacked - given;
            given = unpacked ?? 0;
            yield { page: { ...page, progress: { done: part.storedDone(page.progress), total } }, bytes };
          }
        }
      } finally {
        await copy.release();
      }
    },
    /**
     * Calls `look` with the parts of a file until it finds names, and returns these names. An entry of an archive may have
     * none.
     */
    async firstNames(
      file: SourceFile,
      { store, stream, signal }: Omit<ReadFrom, 'read'>,
      look: (file: OpenFile) => Promise<string[]>,
    ): Promise<string[]> {
      const copy = await store.copy(file, signal);
      try {
        const unpacking = { entry: stream.entry, limits: options.unpacking, temporary, document };
        let isEmpty = true;
        for await (const part of openParts(copy.file, unpacking)) {
          isEmpty = false;
          const names = await look(part.file);
          if (names.length > 0) return names;
        }
        if (isEmpty) throw sourceFault(`${file.label} is empty.`);
        return [];
      } finally {
        await copy.release();
      }
    },
    /**
     * Remembers that a stream was read to its end in this run.
     *
     * @param mayBeMisread see `StreamRead`
     */
    wasRead(
      name: string,
      stream: FileStream,
      { location, store, files, outdated }: FoundFiles,
      mayBeMisread: boolean,
    ): void {
      const read = new Map([...files, ...outdated].map((file) => [file.path, file]));
      reads.set(name, { name, stream, location, store, read, mayBeMisread });
    },
    acknowledge: (passed: readonly string[], signal: AbortSignal): Promise<void> =>
      acknowledgeFiles([...reads.values()], { passed, log: host.log, signal }),
    async close(): Promise<void> {
      try {
        for (const store of stores.values()) await (await store.catch(() => null))?.close();
      } finally {
        await temporary.close();
      }
    },
  };
}

export type SourceFiles = ReturnType<typeof openFileSource>;

/** Without a time and a tag it is impossible to know whether a file was already read. */
function assertVersioned({ label, version, bytes }: SourceFile): void {
  if (Number(timeOf(version)) !== 0 || !version.endsWith(`${bytes ?? '?'}/`)) return;
  throw sourceFault(
    `${label} has neither a time nor an ETag, so dpp-sync does not know whether the file was read already.`,
    {
      suggestion: 'Use `contents: snapshot`, or set up the server so that it sends `ETag` or `Last-Modified`.',
    },
  );
}

/**
 * Opens the store that a path names. Nothing is sent before the store is used, and the code for a protocol is loaded here,
 * so that it costs nothing if it is not needed.
 *
 * @throws a `sourceFault` if `options.access` lacks a setting that the server needs
 */
async function openStore(
  location: Location,
  { options, temporary }: { options: FileSource; temporary: TemporaryFiles },
): Promise<FileStore> {
  if (location.server === null) return createLocalStore(location);
  const server = await openServer(location, location.server, options);
  return createRemoteStore({ location, server, limits: options.downloads, temporary });
}

async function openServer({ label }: Location, address: ServerAddress, source: FileSource): Promise<FileServer> {
  const { https = {}, sftp, ftp, s3 } = source.access;
  const { idleMs } = source.downloads;
  switch (address.scheme) {
    case 'http':
    case 'https': {
      const { createHttpsServer } = await import('./servers/https-server.ts');
      return createHttpsServer(address, { access: https, idleMs, label });
    }
    case 'sftp': {
      if (sftp === undefined)
        throw missing('sftp', 'the user, the password or the private key, and the key of the host');
      if (sftp.password === undefined && sftp.privateKey === undefined) {
        throw sourceFault('`access.sftp` has neither a password nor a private key.', {
          suggestion: 'Give one of the two, for example `privateKey: ${file:/run/secrets/sftp_key}`.',
        });
      }
      const { createSftpServer } = await import('./servers/sftp-server.ts');
      return createSftpServer(address, { access: sftp, idleMs, label });
    }
    case 'ftp':
    case 'ftps': {
      if (ftp === undefined) throw missing('ftp', 'the user and the password');
      const { createFtpServer } = await import('./servers/ftp-server.ts');
      return createFtpServer(address, { access: ftp, idleMs, label });
    }
    case 's3': {
      if (s3 === undefined) throw missing('s3', 'the access key and the region');
      const { createS3Server } = await import('./servers/s3-server.ts');
      return createS3Server(address, { access: s3, idleMs, label });
    }
  }
}

function missing(section: string, what: string): Error {
  return sourceFault(
    `The path begins with ${section}://, and the options of the source have no \`access.${section}\`.`,
    {
      suggestion: `Give ${what} under \`access.${section}\`.`,
    },
  );
}
