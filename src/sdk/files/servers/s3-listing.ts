import { SaxesParser } from 'saxes';
import type { Entry } from '../file-store.ts';
import { versionOf } from '../source-file.ts';

/** One answer to ListObjectsV2. Keys and prefixes are complete, from the top of the bucket. */
export interface S3Listing {
  files: Entry[];
  folders: string[];
  /** Where the next answer begins; null for the last answer. */
  next: string | null;
}

/** @throws an Error for an answer that is not a listing of ListObjectsV2 */
export function parseS3Listing(text: string): S3Listing {
  const listing: S3Listing = { files: [], folders: [], next: null };
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
    files: listing.files.map((file) => ({ ...file, name: decoded(file.name) })),
    folders: listing.folders.map(decoded),
    // The token is not a name, so it is sent back unchanged.
    next: listing.next,
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
export function s3Version(of: { bytes: number; etag: string | null; modified: string | null }): string {
  const ms = Date.parse(of.modified ?? '');
  const modifiedNs = Number.isNaN(ms) ? 0n : BigInt(Math.trunc(ms / 1_000)) * 1_000_000_000n;
  return versionOf({ modifiedNs, bytes: of.bytes, tag: (of.etag ?? '').replaceAll('"', '') });
}

function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
