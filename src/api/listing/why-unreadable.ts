import { namelessIn } from './listing-walk.ts';
import { type PageTools, readPageOnce } from './page-reading.ts';

/** Reads the first page of a listing. Returns why the listing cannot be read; null if it can. */
export async function whyUnreadable<Entry>({
  path,
  ...tools
}: PageTools<Entry> & { path: string }): Promise<string | null> {
  const read = await readPageOnce(tools, path);
  const outcome = read.kind === 'page' ? namelessIn(read.page) : read.outcome;
  if (outcome === null) return null;
  if (!('detail' in outcome)) return 'there was no answer.';
  const { status, message } = outcome.detail;
  return status === null || message.includes(String(status)) ? message : `The API answered with ${status}: ${message}`;
}
