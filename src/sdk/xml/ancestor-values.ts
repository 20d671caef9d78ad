import { type JsonObject, setMember } from '../../lib/json.ts';

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

const NAME = String.raw`[\p{L}_][\p{L}\p{N}_.\-]*(?::[\p{L}_][\p{L}\p{N}_.\-]*)?`;
const PATH = new RegExp(`^((?:\\.\\./)+|/)((?:${NAME}/)*)(@?)(${NAME})$`, 'u');

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
