import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AwsV4Signer } from 'aws4fetch';
import { SaxesParser } from 'saxes';
import { isLoopback } from '../../../lib/loopback.ts';
import { percentEncoded } from '../../../lib/text/percent.ts';
import { sourceFault } from '../../connector.ts';
import type { Access } from '../file-options.ts';
import { createSink, type Entry, type FileServer } from '../file-store.ts';
import type { ServerAddress } from '../location.ts';
import { changedFault, changeOf, versionOf } from '../source-file.ts';
import { createServerFaults } from './connection.ts';
import { createHttpClient, type HttpAnswer, type HttpRequest, headerSize } from './https-server.ts';

type S3Access = NonNullable<Access['s3']>;

const ANSWER_BYTES_MAX = 16_000_000;
const LISTED_MAX = 1_000_000;

interface S3Request extends Omit<HttpRequest, 'url' | 'headers'> {
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
}

/** A bucket of a storage that speaks S3. The parts of the keys between the slashes count as folders. */
export function createS3Server(
  { host: bucket }: ServerAddress,
  options: { access: S3Access; idleMs: number; label: (path: string) => string },
): FileServer {
  const { access, idleMs, label } = options;
  const { accessKeyId, secretAccessKey, sessionToken, region } = access;
  const base = baseOf(bucket, access);
  const faults = createServerFaults(new URL(base).origin, [secretAccessKey, sessionToken, accessKeyId]);
  const client = createHttpClient({ ca: access.ca, idleMs, faults });
  // The keys that are derived from the secret, which are valid for one day and region.
  const cache = new Map<string, ArrayBuffer>();

  async function send({ key, query = {}, headers = {}, ...request }: S3Request): Promise<HttpAnswer> {
    const search = Object.entries(query).map(([name, value]) => `${name}=${percentEncoded(value)}`);
    const path = key === '' ? '' : `/${key.split('/').map(percentEncoded).join('/')}`;
    const url = `${base}${path}${search.length === 0 ? '' : `?${search.join('&')}`}`;
    const signer = new AwsV4Signer({
      method: request.method,
      url,
      headers,
      accessKeyId,
      secretAccessKey,
      region,
      cache,
      service: 's3',
      ...(sessionToken === undefined ? {} : { sessionToken }),
    });
    const signed = await signer.sign();
    return await client.send({ ...request, url: signed.url.href, headers: Object.fromEntries(signed.headers) });
  }

  async function head(key: string, what: string, signal: AbortSignal): Promise<Entry | null> {
    const answer = await send({ key, what, method: 'HEAD', signal });
    answer.body.destroy();
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw unexpected(what, answer.status);
    return entryOf(key, answer);
  }

  function unexpected(what: string, status: number, text = ''): Error {
    const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1];
    return faults.refused(
      `${what}: the storage answers with ${status}${code === undefined ? '' : ` (${code})`}.`,
      'Check the bucket, the endpoint, the region and `pathStyle` in `options.access.s3`.',
    );
  }

  async function listPart(prefix: string, from: string | null, signal: AbortSignal): Promise<S3Listing> {
    const what = `${label(prefix)}* could not be listed`;
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      delimiter: '/',
      prefix,
      ...(from === null ? {} : { 'continuation-token': from }),
    };
    const answer = await send({ key: '', query, what, method: 'GET', signal });
    const text = await textOf(answer).catch((error: unknown) => {
      throw faults.of(what, error);
    });
    if (answer.status !== 200) throw unexpected(what, answer.status, text);
    try {
      const part = parseS3Listing(text);
      // Without the rest, a snapshot would lack files.
      if (part.next === null ? part.isTruncated : part.next === from) {
        throw new Error('the answer says that there are more files, and not where they begin');
      }
      return part;
    } catch (error) {
      throw faults.of(what, error, 'Check that the endpoint is an S3 storage with ListObjectsV2.');
    }
  }

  return {
    stat: async (path, signal) => await head(path, `${label(path)} could not be looked up`, signal),
    async list(folder, wanted, signal, alive) {
      const above = folder === '' ? '' : `${folder}/`;
      const found: Entry[] = [];
      let next: string | null = null;
      do {
        const part: S3Listing = await listPart(above + wanted.prefix, next, signal);
        alive();
        const folders = part.folders.map((prefix) => ({ ...NO_FILE, name: prefix.slice(0, -1) }));
        for (const entry of wanted.kind === 'file' ? part.files : folders) {
          const name = entry.name.slice(above.length);
          // Consoles store an empty object under the key of the folder itself, for folders without files.
          if (name !== '' && wanted.matches(name)) found.push({ ...entry, name });
        }
        next = part.next;
        if (found.length > LISTED_MAX) {
          throw faults.refused(`${label(above)} has more than ${LISTED_MAX} matches.`, 'Write a narrower pattern.');
        }
      } while (next !== null);
      return found;
    },
    async download(file, target, signal) {
      const what = `${file.label} could not be downloaded`;
      const answer = await send({ key: file.path, what, method: 'GET', signal });
      if (answer.status !== 200) {
        const text = await textOf(answer).catch(() => '');
        throw answer.status === 404
          ? changedFault(file, 'the file was removed')
          : unexpected(what, answer.status, text);
      }
      const found = entryOf(file.path, answer);
      if (found.version !== file.version) {
        answer.body.destroy();
        throw changedFault(file, changeOf(file.bytes, found.bytes));
      }
      await pipeline(answer.body, createSink(target)).catch((error: unknown) => {
        throw faults.of(what, error);
      });
    },
    /**
     * A storage cannot rename: the file is copied on the server, and the original is deleted after the copy was found.
     */
    async move(file, path, signal) {
      const what = `${file.label} could not be moved to ${label(path)}`;
      if ((await head(path, what, signal)) !== null) return false;
      const source = `/${bucket}/${file.path}`.split('/').map(percentEncoded).join('/');
      const answer = await send({ key: path, what, method: 'PUT', signal, headers: { 'x-amz-copy-source': source } });
      const text = await textOf(answer).catch((error: unknown) => {
        throw faults.of(what, error);
      });
      // If a copy fails after it has begun, the answer has the status 200 and an error in the body.
      if (answer.status !== 200 || text.includes('<Error>')) throw unexpected(what, answer.status, text);
      const copy = await head(path, what, signal);
      if (copy?.bytes !== file.bytes) throw faults.refused(`${what}: the copy is not complete.`, 'Pull again.');
      await deleteFile(file.path, what, signal);
      return true;
    },
    remove: (file, signal) => deleteFile(file.path, `${file.label} could not be deleted`, signal),
    interrupt: () => client.interrupt(),
    close: () => client.close(),
  };

  async function deleteFile(key: string, what: string, signal: AbortSignal): Promise<void> {
    const answer = await send({ key, what, method: 'DELETE', signal });
    const text = await textOf(answer).catch(() => '');
    if (answer.status !== 204 && answer.status !== 200) throw unexpected(what, answer.status, text);
  }
}

const NO_FILE = { kind: 'folder', bytes: null, version: '' } as const;

function baseOf(bucket: string, { endpoint, region, pathStyle }: S3Access): string {
  const address = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (address.protocol !== 'https:' && !(address.protocol === 'http:' && isLoopback(address.hostname))) {
    throw sourceFault('`access.s3.endpoint` is not encrypted, so others on the network could change the export.', {
      suggestion: 'Use https://. Plain http:// is accepted only for this machine.',
    });
  }
  const path = address.pathname.replace(/\/$/, '');
  if (pathStyle) return `${address.origin}${path}/${percentEncoded(bucket)}`;
  return `${address.protocol}//${bucket}.${address.host}${path}`;
}

function entryOf(key: string, answer: HttpAnswer): Entry {
  const bytes = headerSize(answer.header('content-length')) ?? 0;
  const version = s3Version({ bytes, etag: answer.header('etag'), modified: answer.header('last-modified') });
  return { name: posix.basename(key), kind: 'file', bytes, version };
}

async function textOf({ body }: HttpAnswer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** One answer to ListObjectsV2. Keys and prefixes are complete, from the top of the bucket. */
interface S3Listing {
  files: Entry[];
  folders: string[];
  /** True if the answer says that it is not the last one. */
  isTruncated: boolean;
  /** Where the next answer begins; null for the last answer. */
  next: string | null;
}

/** @throws an Error for an answer that is not a listing of ListObjectsV2 */
function parseS3Listing(text: string): S3Listing {
  const listing: S3Listing = { files: [], folders: [], isTruncated: false, next: null };
  const parser = new SaxesParser();
  const path: string[] = [];
  let isEncoded = false;
  let value = '';
  let fields: Record<string, string> = {};
  const isWithin = (...names: string[]) => names.every((name, at) => path[at] === name) && path.length === names.length;

  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name }) => {
    path.push(name);
    value = '';
    if (path.length === 2) fields = {};
  });
  parser.on('text', (piece) => (value += piece));
  parser.on('closetag', () => {
    const name = path.at(-1) ?? '';
    if (path.length === 3) fields[name] = value;
    if (isWithin('ListBucketResult', 'EncodingType')) isEncoded = value === 'url';
    if (isWithin('ListBucketResult', 'IsTruncated')) listing.isTruncated = value.trim() === 'true';
    if (isWithin('ListBucketResult', 'NextContinuationToken')) listing.next = value;
    if (isWithin('ListBucketResult', 'Contents')) listing.files.push(fileOf(fields));
    if (isWithin('ListBucketResult', 'CommonPrefixes')) listing.folders.push(fields['Prefix'] ?? '');
    path.pop();
    if (path.length === 0 && name !== 'ListBucketResult') throw new Error(`The answer is a ${name}, not a listing.`);
  });
  parser.write(text).close();

  if (!isEncoded) return listing;
  // The names are encoded, because XML cannot hold every character. The element that states the encoding may follow the
  // names.
  return {
    // The token is not a name, so it is sent back unchanged.
    ...listing,
    files: listing.files.map((file) => ({ ...file, name: decoded(file.name) })),
    folders: listing.folders.map(decoded),
  };
}

function fileOf(fields: Record<string, string>): Entry {
  const bytes = Number(fields['Size'] ?? '');
  return {
    name: fields['Key'] ?? '',
    kind: 'file',
    bytes,
    version: s3Version({ bytes, etag: fields['ETag'] ?? null, modified: fields['LastModified'] ?? null }),
  };
}

/**
 * The version of an object. It is the same for a listing, which states milliseconds, and for the headers of a file, which state
 * seconds.
 */
function s3Version(of: { bytes: number; etag: string | null; modified: string | null }): string {
  const ms = Date.parse(of.modified ?? '');
  const modifiedNs = Number.isNaN(ms) ? 0n : BigInt(Math.trunc(ms / 1_000)) * 1_000_000_000n;
  return versionOf({ modifiedNs, bytes: of.bytes, tag: (of.etag ?? '').replaceAll('"', '') });
}

function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
