/** A change of form that makes keys equal which differ otherwise. */
interface Form {
  /** What has changed, as the subject of a sentence. */
  words: string;
  /** The key without what the form changes. */
  reduce: (key: string) => string;
}

const withoutZeros = (key: string): string => key.replace(/(^|\D)0+(?=\d)/g, '$1');
const withoutSeparators = (key: string): string => key.replace(/[\s._/\\-]+/g, '');
const withoutCase = (key: string): string => key.toLowerCase();

const FORMS: readonly Form[] = [
  { words: 'leading zeros', reduce: withoutZeros },
  { words: 'upper and lower case', reduce: withoutCase },
  { words: 'spaces and separators', reduce: withoutSeparators },
  {
    words: 'leading zeros, case, spaces and separators',
    reduce: (key) => withoutZeros(withoutSeparators(withoutCase(key))),
  },
];

/** So many keys propose a prefix or a suffix. */
const PROPOSING = 20;

/** The change of form that makes most former keys equal to new ones. */
interface KeyForm {
  words: string;
  /** How many of the former keys are then equal to a new one. */
  equal: number;
}

/**
 * Finds the change of form that makes former keys equal to new ones: zeros, case, separators, a prefix or a suffix. Null
 * if no form makes at least half of the former keys equal. Takes a time that grows with the number of keys.
 */
export function equalForm(former: readonly string[], fresh: readonly string[]): KeyForm | null {
  const forms = [...FORMS, ...affixes(former, fresh)];
  let best: KeyForm | null = null;
  for (const { words, reduce } of forms) {
    const reduced = new Set(fresh.map(reduce));
    const equal = former.filter((key) => reduced.has(reduce(key))).length;
    if (equal > 0 && equal * 2 >= former.length && equal > (best?.equal ?? 0)) best = { words, equal };
  }
  return best;
}

/** The prefixes and suffixes that one of the first former keys has more or less than a new key. */
function affixes(former: readonly string[], fresh: readonly string[]): Form[] {
  const found = new Map<string, Form>();
  for (const one of former.slice(0, PROPOSING)) {
    for (const other of fresh) {
      const [short, long] = one.length < other.length ? [one, other] : [other, one];
      if (short === '' || short.length === long.length) continue;
      const rest = long.length - short.length;
      if (long.endsWith(short)) {
        const prefix = long.slice(0, rest);
        const reduce = (key: string) => (key.startsWith(prefix) ? key.slice(rest) : key);
        found.set(`< ${prefix}`, { words: `the prefix ${JSON.stringify(prefix)}`, reduce });
      } else if (long.startsWith(short)) {
        const suffix = long.slice(short.length);
        const reduce = (key: string) => (key.endsWith(suffix) ? key.slice(0, -rest) : key);
        found.set(`> ${suffix}`, { words: `the suffix ${JSON.stringify(suffix)}`, reduce });
      }
      if (found.size >= PROPOSING) return [...found.values()];
    }
  }
  return [...found.values()];
}
