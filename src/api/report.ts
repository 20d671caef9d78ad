import type { Report } from '../domain/ports/platform.ts';
import type { Profile } from '../domain/profile.ts';
import { isJsonObject, type JsonValue } from '../lib/json.ts';
import type { CleanText } from './answers/clean-text.ts';
import { identifierAt, wordAt } from './answers/entry.ts';
import { fieldsIn } from './answers/json-text.ts';
import { remoteIdIn, whyNoId } from './answers/remote-id.ts';
import type { ListShape, NoEntry, ReadEntry } from './listing/list-page.ts';

/** Reads entries of the list of reports ("Endpoints"; the document shows none of their fields). */
export function reportShape(profile: Profile, clean: CleanText): ListShape<Report> {
  const paths = profile.reports;

  function read(entry: JsonValue): ReadEntry<Report> | NoEntry {
    const id = remoteIdIn(entry, paths, clean);
    if (id === null || !isJsonObject(entry)) return { noId: whyNoId(entry, paths, clean) };
    const fields = fieldsIn(entry, profile.list.entry);
    return {
      identity: id,
      entry: {
        id,
        type: wordAt(fields, paths.typePaths, clean)?.shown ?? null,
        status: wordAt(fields, paths.statusPaths, clean)?.shown ?? null,
        createdAt: identifierAt(fields, paths.createdAtPaths, clean),
        content: entry,
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}
