import type { Report } from '../domain/ports/platform.ts';
import type { Profile } from '../domain/profile.ts';
import { isJsonObject, type JsonValue } from '../lib/json.ts';
import type { CleanText } from './answers/clean-text.ts';
import { remoteIdIn } from './answers/decode.ts';
import { wordAt } from './answers/entry.ts';
import type { ListShape, ReadEntry } from './listing/list-page.ts';

/** Reads entries of the list of reports ("Endpoints"; the document shows none of their fields). */
export function reportShape(profile: Profile, clean: CleanText): ListShape<Report> {
  const paths = profile.reports;

  function read(entry: JsonValue): ReadEntry<Report> | null {
    const id = remoteIdIn(entry, paths.idPaths, clean);
    if (id === null || !isJsonObject(entry)) return null;
    return {
      identity: id,
      entry: {
        id,
        type: wordAt(entry, paths.typePaths, clean),
        status: wordAt(entry, paths.statusPaths, clean),
        createdAt: wordAt(entry, paths.createdAtPaths, clean),
        content: entry,
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}
