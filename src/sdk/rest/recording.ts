import type { Exchange } from './exchange.ts';

/** What `dpp-sync connector record` writes for a stream: the requests of its reads with their answers, in order. */
export interface Recording {
  stream: string;
  /** A complete read, or its first pages. */
  snapshot: Exchange[];
  /** A read of the changes since then, for a stream that has changes. */
  changes: Exchange[];
}
