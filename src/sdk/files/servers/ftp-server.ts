import { posix } from 'node:path';
import { finished } from 'node:stream/promises';
import { Client, type FileInfo, FTPError } from 'basic-ftp';
import { messageOf } from '../../../lib/errors.ts';
import type { Access } from '../file-options.ts';
import { createSink, type Entry, type FileServer } from '../file-store.ts';
import type { ServerAddress } from '../location.ts';
import { versionOf } from '../source-file.ts';
import { createKeptConnection, createServerFaults } from './connection.ts';

type FtpAccess = NonNullable<Access['ftp']>;

const PORT = 21;
const IMPLICIT_TLS_PORT = 990;
/** "Requested action not taken": a file or folder is missing or cannot be accessed. */
const NOT_TAKEN = 550;

const CHECK_RIGHTS = 'Check the rights of the user on the server.';

interface Connection {
  client: Client;
  /** The folder in which the session begins. */
  home: string;
}

/**
 * A server that speaks FTP: with TLS from the start (`ftps`), or before the login (`ftp`), or without TLS if that is
 * set.
 */
export function createFtpServer(
  { scheme, host, port }: ServerAddress,
  options: { access: FtpAccess; idleMs: number; label: (path: string) => string },
): FileServer {
  const { access, idleMs, label } = options;
  const isImplicit = scheme === 'ftps';
  const name = `${scheme}://${host}${port === null ? '' : `:${port}`}`;
  const faults = createServerFaults(name, [access.password]);

  function fail(what: string, error: unknown, suggestion?: string): Error {
    if (/another host/.test(messageOf(error))) {
      return faults.refused(
        `${what}: the server names another host for the data, and dpp-sync does not connect to another host.`,
        'Set up the server so that it states its own address for passive connections.',
      );
    }
    return faults.of(what, error, suggestion);
  }

  async function open(cutWith: (cut: () => void) => void): Promise<Connection> {
    const client = new Client(idleMs);
    cutWith(() => client.close());
    try {
      const secureOptions = { host, ...(access.ca === undefined ? {} : { ca: access.ca }) };
      await client.access({
        host: host.replace(/^\[|\]$/g, ''),
        port: port ?? (isImplicit ? IMPLICIT_TLS_PORT : PORT),
        user: access.user,
        password: access.password,
        secure: isImplicit ? 'implicit' : !access.plain,
        secureOptions,
      });
      return { client, home: await client.pwd() };
    } catch (error) {
      client.close();
      throw fail(`${name} could not be logged in to`, error, adviceOn(error));
    }
  }

  const kept = createKeptConnection<Connection>({ open, close: async ({ client }) => client.close() });
  const absolute = (path: string, home: string) => (path.startsWith('/') ? path : posix.join(home, path));

  /** Asks for the time of a file if the server's listings state no time. */
  async function fileEntry(client: Client, path: string, info: FileInfo | null): Promise<Entry | null> {
    try {
      const bytes = info?.size ?? (await client.size(path));
      const modified = info?.modifiedAt ?? (await client.lastMod(path));
      return entryOf(posix.basename(path), bytes, modified);
    } catch (error) {
      if (!(error instanceof FTPError)) throw error;
      if (info === null) return null;
      // The server has no MDTM. The text of its listing also shows whether the file has changed.
      const version = versionOf({ modifiedNs: 0n, bytes: info.size, tag: info.rawModifiedAt });
      return { name: info.name, kind: 'file', bytes: info.size, version };
    }
  }

  async function entries(client: Client, folder: string, matches: (name: string) => boolean): Promise<Entry[]> {
    await client.cd(folder);
    const found: Entry[] = [];
    for (const info of await client.list()) {
      if (!matches(info.name) || /[\r\n]/.test(info.name)) continue;
      const path = posix.join(folder, info.name);
      const entry = info.isDirectory
        ? folderEntry(info.name)
        : info.isSymbolicLink
          ? await followed(client, path)
          : await fileEntry(client, path, info.isFile ? info : null);
      if (entry !== null) found.push(entry);
    }
    return found;
  }

  /**
   * @throws a `sourceFault` for a link that leads to no file and to no folder, because without this file a snapshot would
   *   be incomplete. A server that states neither sizes nor times of files shows no file either
   */
  async function followed(client: Client, path: string): Promise<Entry> {
    const file = await fileEntry(client, path, null);
    if (file !== null) return file;
    try {
      await client.cd(path);
    } catch (error) {
      if (!isNotTaken(error)) throw error;
      const what = `${label(path)} is a link, and the server shows neither a file nor a folder behind it`;
      throw fail(what, error, 'Correct or remove the link on the server.');
    }
    return folderEntry(posix.basename(path));
  }

  return {
    stat: (path) =>
      kept.use(async ({ client, home }) => {
        try {
          const full = absolute(path, home);
          const direct = await fileEntry(client, full, null);
          if (direct !== null) return direct;
          const base = posix.basename(full);
          return (await entries(client, posix.dirname(full), (one) => one === base))[0] ?? null;
        } catch (error) {
          if (isNotTaken(error)) return null;
          throw fail(`${label(path)} could not be looked up`, error);
        }
      }),
    list: (folder, wanted, _signal, alive) =>
      kept.use(async ({ client, home }) => {
        let bytes = 0;
        client.trackProgress((info) => {
          if (info.bytesOverall > bytes) alive();
          bytes = info.bytesOverall;
        });
        try {
          return await entries(client, absolute(folder, home), (one) => {
            alive();
            return wanted.matches(one);
          });
        } catch (error) {
          const why = isNotTaken(error) ? 'does not exist, or may not be read' : 'could not be listed';
          throw fail(`${label(folder)} ${why}`, error, 'Check the folder, and whether the user may read it.');
        } finally {
          client.trackProgress();
        }
      }),
    download: (file, target) =>
      kept.use(async ({ client, home }) => {
        const sink = createSink(target);
        const written = finished(sink);
        written.catch(() => undefined);
        try {
          await client.downloadTo(sink, absolute(file.path, home));
          await written;
        } catch (error) {
          sink.destroy();
          throw fail(`${file.label} could not be downloaded`, error);
        }
      }),
    move: (file, path) =>
      kept.use(async ({ client, home }) => {
        try {
          const to = absolute(path, home);
          await client.ensureDir(posix.dirname(to));
          const base = posix.basename(to);
          // Many servers would replace a file with the new name, so the code first checks that there is none.
          if ((await entries(client, posix.dirname(to), (one) => one === base)).length > 0) return false;
          await client.rename(absolute(file.path, home), to);
          return true;
        } catch (error) {
          throw fail(`${file.label} could not be moved to ${label(path)}`, error, CHECK_RIGHTS);
        }
      }),
    remove: (file) =>
      kept.use(async ({ client, home }) => {
        try {
          await client.remove(absolute(file.path, home));
        } catch (error) {
          throw fail(`${file.label} could not be deleted`, error, CHECK_RIGHTS);
        }
      }),
    interrupt: () => kept.cut(),
    close: () => kept.close(),
  };
}

function entryOf(name: string, bytes: number, modified: Date): Entry {
  const modifiedNs = BigInt(Math.trunc(modified.getTime() / 1_000)) * 1_000_000_000n;
  return { name, kind: 'file', bytes, version: versionOf({ modifiedNs, bytes, tag: '' }) };
}

function folderEntry(name: string): Entry {
  return { ...entryOf(name, 0, new Date(0)), kind: 'folder' };
}

function isNotTaken(error: unknown): boolean {
  return error instanceof FTPError && error.code === NOT_TAKEN;
}

function adviceOn(error: unknown): string {
  if (error instanceof FTPError && error.code === 530) return 'Check the user and the password.';
  // 500 to 504: the server does not know AUTH TLS.
  if (error instanceof FTPError && error.code >= 500 && error.code <= 504) {
    return 'If the server has no TLS, set `access.ftp.plain: true`. Others on the network can then read the password and the files.';
  }
  return 'Check that the server can be reached, and pull again.';
}
