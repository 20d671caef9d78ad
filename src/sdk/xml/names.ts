/** Makes the names of a row from the names of elements and attributes. */
export interface Names {
  element(raw: string): string;
  /** With `@`; null for a declaration of a namespace. */
  attribute(raw: string): string | null;
}

/** A file could have as many names as it has elements. */
const REMEMBERED_MAX = 10_000;

/**
 * Gives the same string object for the same name, so that looking it up is fast.
 *
 * @param prefixes whether `g:name` stays or becomes `name`
 */
export function createNames(prefixes: 'strip' | 'keep'): Names {
  const local = (raw: string): string => {
    const colon = prefixes === 'strip' ? raw.indexOf(':') : -1;
    return unique(colon === -1 ? raw : raw.slice(colon + 1));
  };
  return {
    element: remembered(local),
    attribute: remembered((raw) => (raw === 'xmlns' || raw.startsWith('xmlns:') ? null : unique(`@${local(raw)}`))),
  };
}

interface Remembered<Name> {
  raw: string;
  made: Name;
  /** The name that followed this name the last time. */
  next: Remembered<Name> | undefined;
}

/** Elements mostly follow each other in the same order, and to compare two names takes less time than to look one up. */
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

/** The name as V8 keeps property keys. It does not hold the piece of the file that the name was cut out of. */
function unique(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name;
}
