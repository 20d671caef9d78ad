import { type JsonObject, setMember } from '../../lib/json.ts';
import { isMisspelt } from '../../lib/text/suggest.ts';

/** One step of a path: an element's name, and whether other elements may be between it and the step before. */
interface Step {
  deep: boolean;
  name: string;
  /** The name. A name with `*` is a pattern. */
  test: string | RegExp;
}

/** A path, and how many of its steps match down to the innermost open element. */
type Position = readonly [path: number, steps: number];

const NAME = String.raw`[\p{L}_*][\p{L}\p{N}_.\-*]*`;
const STEP = new RegExp(`^(//?)(${NAME}(?::${NAME})?)`, 'u');
/**
 * At most this many states are remembered. States are made from the element names of a file, so a file could make their
 * number grow without end.
 */
const REMEMBERED_MAX = 10_000;

// The paths that a text such as `/BMECAT/T_*/ARTICLE | //PRODUCT` names. Null if the text has another form.
function parsePaths(text: string): Step[][] | null {
  const paths: Step[][] = [];
  for (const alternative of text.split('|')) {
    let rest = alternative.trim();
    const steps: Step[] = [];
    while (rest !== '') {
      const match = STEP.exec(rest);
      if (match === null) return null;
      const [whole, separator, name = ''] = match;
      steps.push({ deep: separator === '//', name, test: name.includes('*') ? patternOf(name) : name });
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

/** The step of a path that follows on the steps that were found. */
interface NextStep {
  /** The part of the path before this step; empty before the first step. */
  after: string;
  name: string;
  isPattern: boolean;
  /** True if this step is the last one and names children, so that the element before it is the list of the records. */
  isRecordOfParent: boolean;
}

/** The state of the paths after some open tags of a document. */
export interface PathState {
  /** True if the innermost open element is a record. */
  readonly matched: boolean;
  /** The most steps of one path that lead to the innermost open element; -1 if no path leads into it. */
  readonly steps: number;
  /** The next steps of the paths with this number of steps. */
  readonly next: readonly NextStep[];
  /** The state after one more open tag. */
  enter(name: string): PathState;
}

/**
 * The state before the first tag. A state is made when a file first needs it, and is then kept, so that a tag needs one
 * look-up.
 *
 * @param text a text for which `isRecordPath` is true
 */
export function createPathMatcher(text: string): PathState {
  const paths = parsePaths(text);
  if (paths === null) throw new RangeError(`${text} is not the path of records.`);
  const states = new Map<string, PathState>();

  const stateOf = (positions: readonly Position[]): PathState => {
    // Steps with `//` can reach the same position in several ways.
    const reached = [...new Map(positions.map((position) => [position.join('/'), position])).values()];
    const key = reached.join(' ');
    const known = states.get(key);
    if (known !== undefined) return known;
    const after = new Map<string, PathState>();
    const most = reached.reduce((max, [, steps]) => Math.max(max, steps), -1);
    const state: PathState = {
      matched: reached.some(([path, steps]) => steps === paths[path]?.length),
      steps: most,
      next: reached.flatMap(([path, steps]) => (steps === most ? nextStep(paths[path] ?? [], steps) : [])),
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

function nextStep(steps: readonly Step[], reached: number): NextStep[] {
  const step = steps[reached];
  if (step === undefined) return [];
  const after = steps.slice(0, reached).map(({ deep, name }) => `${deep ? '//' : '/'}${name}`);
  return [
    {
      after: after.join(''),
      name: step.name,
      isPattern: typeof step.test !== 'string',
      isRecordOfParent: !step.deep && reached === steps.length - 1,
    },
  ];
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

/** At most this many names of other elements are remembered and shown. */
const NAMES_MAX = 100;
const NAMES_SHOWN = 12;
const NAME_SHOWN = 60;

/** Why a document has no record although it has other elements. */
interface NoRecords {
  /** The step of the path that was not found, and the elements in its place, in one or two sentences. */
  message: string;
  /** True if the path or the file is wrong. False if the document may be an export that has no records today. */
  isFault: boolean;
}

/** Follows how far the path of the records leads into a document, while no record was found. */
export class PathProgress {
  /** The state with the most steps so far. */
  private furthest: PathState;
  /** The other elements in the place of the next step. */
  private readonly others = new Set<string>();
  /** The first of these elements whose name is nearly the name of the step. */
  private meant: string | undefined;

  /** @param start the state before the first tag */
  constructor(start: PathState) {
    this.furthest = start;
  }

  /** Follows an open tag that is no record. */
  enter(name: string, state: PathState, parent: PathState): void {
    if (state.steps > this.furthest.steps) {
      this.furthest = state;
      this.others.clear();
      this.meant = undefined;
      return;
    }
    if (parent.steps < this.furthest.steps || this.others.size >= NAMES_MAX || this.others.has(name)) return;
    this.others.add(name);
    if (parent.next.some((step) => !step.isPattern && isMisspelt(step.name, name))) this.meant ??= name;
  }

  /** Null if the elements to which the path leads are empty: then the document has an empty list of records. */
  explain(): NoRecords | null {
    const { steps, next } = this.furthest;
    if (steps > 0 && this.others.size === 0) return null;
    const isListFound = steps > 1 || (steps === 1 && next.some((step) => step.isRecordOfParent));
    return { message: this.message(), isFault: this.meant !== undefined || !isListFound };
  }

  private message(): string {
    const { next } = this.furthest;
    const place = next[0]?.after === '' ? 'the document' : next[0]?.after;
    const missing = [...new Set(next.map(({ name }) => name))].join(' or ');
    const meant = this.meant === undefined ? '.' : `; did you mean ${this.meant.slice(0, NAME_SHOWN)}?`;
    const names = [...this.others].map((name) => name.slice(0, NAME_SHOWN));
    const more = names.length > NAMES_SHOWN ? ' and others' : '';
    return `${place} has no ${missing}${meant} It has ${names.slice(0, NAMES_SHOWN).join(', ')}${more}.`;
  }
}

/**
 * The path of a value outside of a record that the row of the record gets. The value is in an element around the
 * record, or before the record.
 */
interface ValuePath {
  /** The number of levels above the record; null for a path from the document's root. */
  up: number | null;
  elements: readonly string[];
  attribute: string | null;
}

const ELEMENT_NAME = String.raw`[\p{L}_][\p{L}\p{N}_.\-]*(?::[\p{L}_][\p{L}\p{N}_.\-]*)?`;
const PATH = new RegExp(`^((?:\\.\\./)+|/)((?:${ELEMENT_NAME}/)*)(@?)(${ELEMENT_NAME})$`, 'u');

/** The longest such value, because every row gets a copy of it. */
export const VALUE_CHARACTERS_MAX = 10_000;

/**
 * Parses `../SUPPLIER_PID`, `../../@mode` or `/BMECAT/HEADER/CATALOG/CATALOG_ID`; null if the text is not such a path.
 */
function parseValuePath(text: string): ValuePath | null {
  const match = PATH.exec(text);
  if (match === null) return null;
  const [, start = '', elements = '', at, last = ''] = match;
  const names = elements.split('/').filter((name) => name !== '');
  return {
    up: start === '/' ? null : start.length / 3,
    elements: at === '' ? [...names, last] : names,
    attribute: at === '' ? null : last,
  };
}

/** True for a text such as `../SUPPLIER_PID` or `/BMECAT/HEADER/CATALOG/CATALOG_ID`. */
export function isValuePath(text: string): boolean {
  return parseValuePath(text) !== null;
}

interface Level {
  name: string;
  /** Values that were found below this element, by the name of the member. */
  found: Map<string, string> | null;
  /** The members whose value is the text of this element, with the level to which they belong. */
  members: [member: string, owner: number][] | null;
  text: string;
}

/** Stores the values outside of records that rows get: for each path the first value before the record. */
export class AncestorValues {
  private readonly paths: readonly (readonly [member: string, path: ValuePath])[];
  private readonly levels: Level[] = [{ name: '', found: null, members: null, text: '' }];

  /** @param paths the paths by the name of the member; `isValuePath` is true for each of them */
  constructor(paths: Readonly<Record<string, string>>) {
    this.paths = Object.entries(paths).map(([member, text]) => {
      const path = parseValuePath(text);
      if (path === null) throw new RangeError(`${text} is not the path of a value.`);
      return [member, path];
    });
  }

  /** True while the text that is read belongs to a value. */
  get wantsText(): boolean {
    const members = this.levels.at(-1)?.members;
    return members !== null && members !== undefined;
  }

  open(name: string, attribute: (name: string) => string | undefined): void {
    const level: Level = { name, found: null, members: null, text: '' };
    this.levels.push(level);
    for (const [member, path] of this.paths) {
      const owner = this.ownerOf(path);
      if (owner === null) continue;
      if (path.attribute === null) {
        level.members ??= [];
        level.members.push([member, owner]);
      } else {
        const value = attribute(path.attribute);
        if (value !== undefined) this.keep(owner, member, value);
      }
    }
  }

  /** @throws RangeError with the name of the element if its text is too long to be kept */
  addText(text: string): void {
    const level = this.levels.at(-1);
    if (level === undefined) return;
    level.text += text;
    if (level.text.length > VALUE_CHARACTERS_MAX) throw new RangeError(level.name);
  }

  close(): void {
    const level = this.levels.pop();
    for (const [member, owner] of level?.members ?? []) this.keep(owner, member, (level?.text ?? '').trim());
  }

  /** The values for the record that is the innermost open element. */
  values(): JsonObject {
    const values: JsonObject = {};
    for (const [member, { up }] of this.paths) {
      const level = up === null ? 0 : this.levels.length - 1 - up;
      const value = this.levels[level]?.found?.get(member);
      if (value !== undefined) setMember(values, member, value);
    }
    return values;
  }

  /** The level at which a path begins, if it leads to the innermost open element; null otherwise. */
  private ownerOf({ up, elements }: ValuePath): number | null {
    const owner = this.levels.length - 1 - elements.length;
    if (owner < 0 || (up === null && owner !== 0)) return null;
    for (let index = 0; index < elements.length; index++) {
      if (this.levels[owner + 1 + index]?.name !== elements[index]) return null;
    }
    return owner;
  }

  private keep(owner: number, member: string, value: string): void {
    const level = this.levels[owner];
    if (level === undefined) return;
    level.found ??= new Map();
    if (!level.found.has(member)) level.found.set(member, value);
  }
}
