/** One step of a path: an element's name, and whether other elements may lie between it and the step before. */
interface Step {
  deep: boolean;
  /** A name, or with `*` in it a pattern. */
  test: string | RegExp;
}

/** How many steps of which path lead to the innermost open element. */
type Position = readonly [path: number, steps: number];

const NAME = String.raw`[\p{L}_*][\p{L}\p{N}_.\-*]*`;
const STEP = new RegExp(`^(//?)(${NAME}(?::${NAME})?)`, 'u');
/** A matcher is built of the element names that a file has, so a file could make it grow without end. */
const REMEMBERED_MAX = 10_000;

// The paths that a text such as `/BMECAT/T_*/ARTICLE | //PRODUCT` names. Null if it is no such text.
function parsePaths(text: string): Step[][] | null {
  const paths: Step[][] = [];
  for (const alternative of text.split('|')) {
    let rest = alternative.trim();
    const steps: Step[] = [];
    while (rest !== '') {
      const match = STEP.exec(rest);
      if (match === null) return null;
      const [whole, separator, name = ''] = match;
      steps.push({ deep: separator === '//', test: name.includes('*') ? patternOf(name) : name });
      rest = rest.slice(whole.length);
    }
    if (steps.length === 0) return null;
    paths.push(steps);
  }
  return paths;
}

function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('.', '\\.').replace(/\*+/g, '.*')}$`, 'su');
}

/** True for a text such as `/BMECAT/T_NEW_CATALOG/ARTICLE`, `//ARTICLE` or `/A/B* | //C`. */
export function isRecordPath(text: string): boolean {
  return parsePaths(text) !== null;
}

/** Where a document stands after some open tags, as far as the paths are concerned. */
export interface PathState {
  /** The innermost open element is a record. */
  readonly matched: boolean;
  /** Records are expected as children of the innermost open element. */
  readonly holdsRecords: boolean;
  /** The state after one more open tag. */
  enter(name: string): PathState;
}

/**
 * The state before the first tag. States are made when a file first leads to them and kept, so that a tag costs one
 * look-up.
 *
 * @param text a text for which `isRecordPath` is true
 */
export function createPathMatcher(text: string): PathState {
  const paths = parsePaths(text);
  if (paths === null) throw new RangeError(`${text} is no record path.`);
  const states = new Map<string, PathState>();

  const stateOf = (positions: readonly Position[]): PathState => {
    // Deep steps lead to the same position in several ways.
    const reached = [...new Map(positions.map((position) => [position.join('/'), position])).values()];
    const key = reached.join(' ');
    const known = states.get(key);
    if (known !== undefined) return known;
    const after = new Map<string, PathState>();
    const state: PathState = {
      matched: reached.some(([path, steps]) => steps === paths[path]?.length),
      holdsRecords: reached.some(([path, steps]) => steps > 0 && isParent(paths[path] ?? [], steps)),
      enter(name) {
        if (reached.length === 0) return state;
        const next = after.get(name);
        if (next !== undefined) return next;
        if (after.size >= REMEMBERED_MAX) after.clear();
        const made = stateOf(reached.flatMap((position) => positionsAfter(position, paths, name)));
        after.set(name, made);
        return made;
      },
    };
    states.set(key, state);
    return state;
  };

  return stateOf(paths.map((_path, index): Position => [index, 0]));
}

function isParent(steps: readonly Step[], reached: number): boolean {
  return reached === steps.length - 1 && steps[reached]?.deep === false;
}

function positionsAfter([path, steps]: Position, paths: readonly Step[][], name: string): Position[] {
  const step = paths[path]?.[steps];
  if (step === undefined) return [];
  const fits = typeof step.test === 'string' ? step.test === name : step.test.test(name);
  const positions: Position[] = [];
  if (fits) positions.push([path, steps + 1]);
  if (step.deep) positions.push([path, steps]);
  return positions;
}
