import type { Listing, ListOptions, OnPage } from '../domain/ports/target.ts';
import type { PlatformContext } from './handler.ts';

/**
 * Reads a list of the platform into a handler's bytes: each page is a line, a JSON array of its entries. The next page is
 * read when this one was taken.
 *
 * @throws the reason of `abort`
 */
export async function readList<Entry>(
  { bytes, abort }: PlatformContext,
  read: (onPage: OnPage<Entry>, options: ListOptions) => Promise<Listing>,
): Promise<Listing> {
  const listing = await read((entries) => bytes.write(Buffer.from(`${JSON.stringify(entries)}\n`)), { signal: abort });
  if (!listing.complete) abort.throwIfAborted();
  return listing;
}
