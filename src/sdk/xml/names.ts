/** At most this many names are remembered, because a file could have as many names as elements. */
const REMEMBERED_MAX = 10_000;

/**
 * Makes the names of a row from the names of elements and attributes. Returns the same string object for the same name,
 * so that a look-up by name is fast.
 *
 * @param prefixes whether `g:name` stays or becomes `name`
 */
export function createNames(prefixes: 'strip' | 'keep') {
  const local = (raw: string): string => {
    const colon = prefixes === 'strip' ? raw.indexOf(':') : -1;
    return unique(colon === -1 ? raw : raw.slice(colon + 1));
  };
  return {
    element: remembered(local),
    /** The name with `@` before it; null for a declaration of a namespace. */
    attribute: remembered((raw) => (raw === 'xmlns' || raw.startsWith('xmlns:') ? null : unique(`@${local(raw)}`))),
  };
}

export type Names = ReturnType<typeof createNames>;

interface Remembered<Name> {
  raw: string;
  made: Name;
  /** The name that came after this name the last time. */
  next: Remembered<Name> | undefined;
}

/**
 * Remembers the results of `make`. Elements mostly follow each other in the same order, so the name that came next the
 * last time is compared first. This takes less time than a look-up.
 */
function remembered<Name>(make: (raw: string) => Name): (raw: string) => Name {
  const names = new Map<string, Remembered<Name>>();
  let last: Remembered<Name> | undefined;
  return (raw) => {
    const guess = last?.next;
    if (guess?.raw === raw) {
      last = guess;
      return guess.made;
    }
    let found = names.get(raw);
    if (found === undefined) {
      if (names.size >= REMEMBERED_MAX) names.clear();
      const key = unique(raw);
      found = { raw: key, made: make(key), next: undefined };
      names.set(key, found);
    }
    if (last !== undefined) last.next = found;
    last = found;
    return found.made;
  };
}

/**
 * The name in the form in which V8 stores property keys. So the piece of the file from which the name was cut need not
 * stay in memory.
 */
function unique(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name;
}
