import { sourceFault } from '../faults.ts';
import type { FileSource } from './file-options.ts';
import type { FileStore } from './file-store.ts';
import { createLocalStore } from './local-store.ts';
import type { Location, ServerAddress } from './location.ts';
import { createRemoteStore } from './remote-store.ts';
import type { FileServer } from './servers/file-server.ts';
import type { TemporaryFiles } from './temporary-files.ts';

/**
 * Opens the store that a path names. Nothing is sent before the store is used, and the code for a protocol is loaded here,
 * so that it costs nothing if it is not needed.
 *
 * @throws a `sourceFault` if `options.access` lacks a setting that the server needs
 */
export async function openStore(
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
