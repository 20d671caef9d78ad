import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { posix } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SftpClient from 'ssh2-sftp-client';
import { Fault, systemCodeOf } from '../../../lib/errors.ts';
import { sourceFault } from '../../connector.ts';
import type { Access } from '../file-options.ts';
import type { Entry, FileServer } from '../file-store.ts';
import type { ServerAddress } from '../location.ts';
import { versionOf } from '../source-file.ts';
import { createKeptConnection, createServerFaults } from './connection.ts';

const PORT = 22;
const END_WITHIN_MS = 1_000;
/** SFTP's code for a missing file, and the client's code for the same case. */
const ABSENT = new Set(['2', 'ENOENT', 'ERR_NOT_EXIST']);

type SftpAccess = NonNullable<Access['sftp']>;

const CHECK_RIGHTS = 'Check the rights of the user on the server.';

interface Connection {
  client: SftpClient;
  socket: Socket;
}

/**
 * A server that speaks SFTP. Nothing is sent to it, not even the user, before its key was compared with the expected
 * one.
 */
export function createSftpServer(
  { host, port }: ServerAddress,
  { access, idleMs, label }: { access: SftpAccess; idleMs: number; label: (path: string) => string },
): FileServer {
  const address = `sftp://${host}${port === null ? '' : `:${port}`}`;
  const faults = createServerFaults(address, [access.password, access.privateKey, access.passphrase]);
  const fingerprints = fingerprintsOf(access.hostKey);
  let wrongKey = '';

  async function open(cutWith: (cut: () => void) => void): Promise<Connection> {
    wrongKey = '';
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port: port ?? PORT });
    cutWith(() => socket.destroy());
    // Each call reports its own error. The library also sends some errors to global listeners. It needs such a
    // listener, and this one does nothing.
    const ignore = () => undefined;
    const client = new SftpClient('dpp-sync', { error: ignore, end: ignore, close: ignore });
    try {
      await once(socket, 'connect');
      await client.connect({
        sock: socket,
        username: access.user,
        ...(access.password === undefined ? {} : { password: access.password }),
        ...(access.privateKey === undefined ? {} : { privateKey: access.privateKey }),
        ...(access.passphrase === undefined ? {} : { passphrase: access.passphrase }),
        readyTimeout: idleMs,
        hostVerifier: (key: Buffer) => {
          const found = createHash('sha256').update(key).digest();
          if (fingerprints.some((expected) => timingSafeEqual(expected, found))) return true;
          wrongKey = `SHA256:${found.toString('base64').replace(/=+$/, '')}`;
          return false;
        },
      });
      return { client, socket };
    } catch (error) {
      socket.destroy();
      if (wrongKey === '') {
        throw faults.of(`${address} could not be logged in to`, error, 'Check the user, and the password or the key.');
      }
      throw sourceFault(`${address} is not the expected server: its key has the fingerprint ${wrongKey}.`, {
        suggestion:
          'Ask the operator of the server for the fingerprint of its key. If the operator names this fingerprint, set `access.sftp.hostKey` to it.',
      });
    }
  }

  const kept = createKeptConnection<Connection>({
    open,
    async close({ client, socket }) {
      // A server that has disappeared never confirms the end, so the code does not wait for it.
      const ended = client.end().catch(() => undefined);
      await Promise.race([ended, delay(END_WITHIN_MS, undefined, { ref: false })]);
      socket.destroy();
    },
  });

  /**
   * @throws a `sourceFault` for a link to a file that is gone, because without this file a snapshot would be incomplete
   */
  async function followed(client: SftpClient, path: string): Promise<Entry> {
    const stats = await client.stat(path).catch((error: unknown) => {
      const what = isAbsent(error) ? 'is a link to a file that does not exist' : 'could not be looked up';
      throw faults.of(`${label(path)} ${what}`, error, 'Correct or remove the link on the server.');
    });
    return entryOf(posix.basename(path), { ...stats, kind: kindOf(stats) });
  }

  return {
    stat: (path) =>
      kept.use(async ({ client }) => {
        try {
          const stats = await client.stat(path);
          return entryOf(posix.basename(path), { ...stats, kind: kindOf(stats) });
        } catch (error) {
          if (isAbsent(error)) return null;
          throw faults.of(`${label(path)} could not be looked up`, error);
        }
      }),
    list: (folder, wanted, _signal, alive) =>
      kept.use(async ({ client, socket }) => {
        // The library returns a listing only as a whole, so data on the socket is used as the sign that the server is
        // alive.
        socket.on('data', alive);
        try {
          const entries: Entry[] = [];
          for (const one of await client.list(folder)) {
            if (!wanted.matches(one.name)) continue;
            if (one.type === 'l') entries.push(await followed(client, `${folder.replace(/\/$/, '')}/${one.name}`));
            else
              entries.push(
                entryOf(one.name, { ...one, kind: one.type === '-' ? 'file' : one.type === 'd' ? 'folder' : 'other' }),
              );
          }
          return entries;
        } catch (error) {
          throw faults.of(
            isAbsent(error) ? `${label(folder)} does not exist` : `${label(folder)} could not be listed`,
            error,
            'Check the folder, and whether the user may read it.',
          );
        } finally {
          socket.off('data', alive);
        }
      }),
    download: (file, target) =>
      kept.use(async ({ client }) => {
        let tooMany: Fault | undefined;
        try {
          const path = await client.realPath(file.path);
          await client.fastGet(path, target.path, {
            step(total) {
              try {
                target.progress(total);
              } catch (error) {
                // Only an error that is thrown here stops the library.
                if (error instanceof Fault) tooMany = error;
                kept.cut();
              }
            },
          });
        } catch (error) {
          throw tooMany ?? faults.of(`${file.label} could not be downloaded`, error);
        }
      }),
    move: (file, path) =>
      kept.use(async ({ client }) => {
        try {
          await client.mkdir(posix.dirname(path), true);
          if ((await client.exists(path)) !== false) return false;
          await client.rename(file.path, path);
          return true;
        } catch (error) {
          throw faults.of(`${file.label} could not be moved to ${label(path)}`, error, CHECK_RIGHTS);
        }
      }),
    remove: (file) =>
      kept.use(async ({ client }) => {
        try {
          await client.delete(file.path);
        } catch (error) {
          throw faults.of(`${file.label} could not be deleted`, error, CHECK_RIGHTS);
        }
      }),
    interrupt: () => kept.cut(),
    close: () => kept.close(),
  };
}

function kindOf({ isFile, isDirectory }: { isFile: boolean; isDirectory: boolean }): Entry['kind'] {
  if (isFile) return 'file';
  return isDirectory ? 'folder' : 'other';
}

function entryOf(name: string, stats: { kind: Entry['kind']; size: number; modifyTime: number }): Entry {
  const modifiedNs = BigInt(stats.modifyTime) * 1_000_000n;
  return { name, kind: stats.kind, bytes: stats.size, version: versionOf({ modifiedNs, bytes: stats.size, tag: '' }) };
}

function isAbsent(error: unknown): boolean {
  const code = systemCodeOf(error) ?? (error instanceof Error && 'code' in error ? String(error.code) : '');
  return ABSENT.has(code);
}

function fingerprintsOf(hostKey: SftpAccess['hostKey']): Buffer[] {
  return [hostKey].flat().map((text) => {
    const digest = Buffer.from(text.replace(/^SHA256:/, ''), 'base64');
    if (digest.length === 32) return digest;
    throw sourceFault('`access.sftp.hostKey` is not the fingerprint of a key.', {
      suggestion: 'Write it as `ssh-keygen -l -E sha256` shows it: SHA256: and 43 characters.',
    });
  });
}
