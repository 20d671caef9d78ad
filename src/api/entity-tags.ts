// The versions of materials (RFC 9110, section 8.8.3: ETag), for platforms that take a change only with `If-Match`.
// They come from lists and from the answers to writes, and are kept as long as the process runs.

import type { Profile } from '../domain/profile.ts';
import type { JsonValue } from '../lib/json.ts';
import { valueAt } from './answers/json-text.ts';
import type { ListShape } from './listing/list-page.ts';
import type { AnswerHeaders } from './transport.ts';

/** The number of materials whose tags are kept. */
const TAGS_MAX = 200_000;
const TAG = /^(?:W\/)?"[\x21\x23-\x7e]{0,255}"$/;
const PLAIN = /^[\x21\x23-\x7e]{1,255}$/;

export interface EntityTags {
  /**
   * The value of `If-Match` for a change of an item; null to send none. Reads the list of items once for all items whose
   * tag is not known, or is outdated.
   *
   * @param readList reads the list of items. It shows its entries to `watched`
   */
  ifMatch(id: string, readList: () => Promise<unknown>): Promise<string | null>;
  /** Takes the tag from the answer to a write that was accepted. Without one the old tag is outdated. */
  written(id: string, headers: AnswerHeaders): void;
  /** The platform has refused the tag: somebody else has changed the item. */
  outdated(id: string): void;
  /** The same shape of a list, whose tags are taken when its entries are read. */
  watched<Entry>(shape: ListShape<Entry>): ListShape<Entry>;
}

export function createEntityTags({ requests, list }: Pick<Profile, 'requests' | 'list'>): EntityTags {
  /** The tag of each item, or the number of listings that had begun when its tag was lost. */
  const known = new Map<string, { tag: string } | { lostAfter: number }>();
  let begun = 0;
  let reading: Promise<unknown> | null = null;
  const places = requests.ifMatch === 'etag' ? list.etagAt : [];

  function remember(id: string, value: { tag: string } | { lostAfter: number }): void {
    known.delete(id);
    known.set(id, value);
    const [oldest] = known.keys();
    if (known.size > TAGS_MAX && oldest !== undefined) known.delete(oldest);
  }

  function tagOf(id: string): string | null {
    const one = known.get(id);
    return one !== undefined && 'tag' in one ? one.tag : null;
  }

  /** True if no listing has begun since the tag was lost. Other listings would show no other tag. */
  function needsList(id: string): boolean {
    const one = known.get(id);
    if (one === undefined) return begun === 0;
    return 'lostAfter' in one && one.lostAfter === begun;
  }

  function lose(id: string): void {
    if (requests.ifMatch === 'etag') remember(id, { lostAfter: begun });
  }

  async function readAgain(readList: () => Promise<unknown>): Promise<void> {
    if (reading === null) {
      begun += 1;
      reading = readList().finally(() => {
        reading = null;
      });
    }
    await reading;
  }

  return {
    async ifMatch(id, readList) {
      if (requests.ifMatch !== 'etag') return requests.ifMatch === 'any' ? '*' : null;
      if (tagOf(id) === null && places.length > 0) {
        if (reading !== null) await reading;
        if (tagOf(id) === null && needsList(id)) await readAgain(readList);
      }
      return tagOf(id);
    },
    written(id, headers) {
      const tag = tagIn(headers['etag']);
      if (requests.ifMatch === 'etag' && tag !== null) remember(id, { tag });
      else lose(id);
    },
    outdated: lose,
    watched: (shape) =>
      places.length === 0
        ? shape
        : {
            ...shape,
            read(entry) {
              const read = shape.read(entry);
              const tag = places.map((path) => tagIn(valueAt(entry, path))).find((one) => one !== null);
              if (!('noId' in read) && tag !== undefined && tag !== null) remember(String(read.identity), { tag });
              return read;
            },
          },
  };
}

/** A tag as it is sent. A version without quotes, such as the number 3, gets them. */
function tagIn(value: JsonValue | string[] | undefined): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  if (TAG.test(text)) return text;
  return PLAIN.test(text) ? `"${text}"` : null;
}
