import type { Count } from '../../domain/ports/target.ts';
import { type PageTools, readPage } from './page-reading.ts';

/** Reads the number of entries that the first page of a listing states. */
export async function readCount<Entry>({ path, ...tools }: PageTools<Entry> & { path: string }): Promise<Count> {
  const read = await readPage(tools, path);
  return read.kind === 'page' ? { ok: true, count: read.page.words.count } : { ok: false, outcome: read.outcome };
}
