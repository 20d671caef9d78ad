import { pipeline } from 'node:stream/promises';
import { sourceFault } from '../../faults.ts';
import type { Access } from '../file-options.ts';
import { createSink, type Entry, type FileServer } from '../file-store.ts';
import type { ServerAddress } from '../location.ts';
import { changedFault, changeOf, versionOf } from '../source-file.ts';
import { createHttpClient, type HttpAnswer, headerSize, headerTime } from './http-client.ts';
import { createServerFaults } from './server-faults.ts';

type HttpsAccess = NonNullable<Access['https']>;

/** A web server. The path of a file is its whole address, with the query, which is never shown. */
export function createHttpsServer(
  { scheme, host, port }: ServerAddress,
  options: { access: HttpsAccess; idleMs: number; label: (path: string) => string },
): FileServer {
  const { access, idleMs, label } = options;
  const name = `${scheme}://${host}${port === null ? '' : `:${port}`}`;
  const secrets = [access.password, access.token, ...Object.values(access.headers ?? {})];
  const faults = createServerFaults(name, secrets);
  const client = createHttpClient({ ca: access.ca, idleMs, faults });
  const headers = headersOf(access);

  async function get(url: string, what: string, signal: AbortSignal): Promise<HttpAnswer | null> {
    const answer = await client.send({ what, method: 'GET', url, headers, signal });
    if (answer.status === 200) return answer;
    answer.body.destroy();
    if (answer.status === 404 || answer.status === 410) return null;
    throw faults.refused(`${what}: the server answers with ${answer.status}.`, 'Check the address and the server.');
  }

  return {
    /** Sends a GET and cuts the answer after the headers, because many servers and signed addresses refuse HEAD. */
    async stat(path, signal) {
      const answer = await get(path, `${label(path)} could not be looked up`, signal);
      if (answer === null) return null;
      answer.body.destroy();
      return entryOf(answer);
    },
    list: () => Promise.reject(new Error('A web server has no list of files.')),
    async download(file, target, signal) {
      const what = `${file.label} could not be downloaded`;
      const answer = await get(file.path, what, signal);
      if (answer === null) throw changedFault(file, 'the file was removed');
      const found = entryOf(answer);
      const encoding = answer.header('content-encoding') ?? 'identity';
      try {
        if (found.version !== file.version) throw changedFault(file, changeOf(file.bytes, found.bytes));
        // A body that is compressed with gzip is unpacked like a gzip file.
        if (!/^(?:identity|gzip|x-gzip|)$/i.test(encoding)) {
          throw faults.refused(
            `${what}: it is encoded as ${encoding}.`,
            'Set up the server so that it sends the file without an encoding.',
          );
        }
      } catch (error) {
        answer.body.destroy();
        throw error;
      }
      await pipeline(answer.body, createSink(target)).catch((error: unknown) => {
        throw faults.of(what, error);
      });
    },
    interrupt: () => client.interrupt(),
    close: () => client.close(),
  };
}

function headersOf({ user, password, token, headers }: HttpsAccess): Record<string, string> {
  if (token !== undefined && (user !== undefined || password !== undefined)) {
    throw sourceFault('`access.https` has both a token and a user, but a request can have only one of them.', {
      suggestion: 'Remove `token`, or `user` and `password`.',
    });
  }
  const basic = user === undefined ? undefined : Buffer.from(`${user}:${password ?? ''}`).toString('base64');
  return {
    // Without this header the server may compress, and the stated size would not be that of the file.
    'accept-encoding': 'identity',
    'user-agent': 'dpp-sync',
    ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...headers,
  };
}

function entryOf(answer: HttpAnswer): Entry {
  const bytes = headerSize(answer.header('content-length'));
  const modifiedNs = headerTime(answer.header('last-modified'));
  return { name: '', kind: 'file', bytes, version: versionOf({ modifiedNs, bytes, tag: answer.header('etag') ?? '' }) };
}
