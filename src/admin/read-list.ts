import type { Listing, ListOptions, OnPage } from '../domain/ports/target.ts';
import type { PlatformContext } from './handler.ts';

/** A page is handed over in pieces of at most this size. */
const PIECE_BYTES = 262_144;

/**
 * Reads a list of the platform into a handler's bytes: each page is a line, a JSON array of its entries. The next page
 * is read when the receiver has accepted this page.
 *
 * @throws the reason of `abort`
 */
export async function readList<Entry>(
  { bytes, abort }: PlatformContext,
  read: (onPage: OnPage<Entry>, options: ListOptions) => Promise<Listing>,
): Promise<Listing> {
  const listing = await read(
    async (entries) => {
      const line = Buffer.from(`${JSON.stringify(entries)}\n`);
      for (let at = 0; at < line.length; at += PIECE_BYTES) await bytes.write(line.subarray(at, at + PIECE_BYTES));
    },
    { signal: abort },
  );
  if (!listing.complete) abort.throwIfAborted();
  return listing;
}
