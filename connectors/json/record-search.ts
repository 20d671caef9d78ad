import { formatDocumentPath, isMisspelt, type JsonObject, type JsonValue, type PathStep } from '../../src/sdk/index.ts';

/** At most this many names or values are remembered and shown. */
const TEXTS_MAX = 100;
const TEXTS_SHOWN = 12;
const TEXT_SHOWN = 60;

/** Why a file gives no record although it has elements. */
interface NoRecords {
  /** What is missing, and what the file has in its place, in two sentences. */
  message: string;
  /** The option that may have to be corrected. */
  option: 'at' | 'where';
  /** True if the path is misspelt. False if the file may be an export that has no records today. */
  isFault: boolean;
}

/** Collects why the elements of a file give no record, as long as there is none. */
export class RecordSearch {
  private readonly file: string;
  private readonly outer: readonly PathStep[];
  private readonly inner: readonly PathStep[];
  private readonly where: readonly [string, JsonValue][];
  /** The most steps of the inner path that lead to a value. */
  private furthest = 0;
  /** The members in the place of the next step, in the first values without it. */
  private readonly members = new Set<string>();
  /** A member in the place of the next step whose name is nearly that of the step, and whose value fits the path. */
  private meant: string | null = null;
  /** The most conditions of `where`, in their order, that a record fulfils; and the values of the next member. */
  private fulfilled = 0;
  private readonly values = new Set<string>();

  /** @param outer the path to an element, or to the list if its elements are the records */
  constructor(
    file: string,
    outer: readonly PathStep[],
    { inner, where }: { inner: readonly PathStep[] | null; where: JsonObject | undefined },
  ) {
    this.file = file;
    this.outer = outer;
    this.inner = inner ?? [];
    this.where = Object.entries(where ?? {});
  }

  /** Call it for a value that has nothing at the next step. `depth` is the number of inner steps to the value. */
  missing(value: JsonObject | JsonValue[], depth: number): void {
    if (depth < this.furthest) return;
    const step = this.inner[depth];
    for (const [name, member] of Object.entries(value)) {
      addText(this.members, Array.isArray(value) ? `[${name}]` : shownName(name));
      // An optional list `images` may be absent where each element has a text `image`.
      if (!isOnPath(member, this.inner[depth + 1])) continue;
      if (typeof step === 'string' && isMisspelt(step, name)) this.meant ??= name;
    }
  }

  /** Call it for each value on the path. */
  reached(depth: number): void {
    if (depth <= this.furthest) return;
    this.furthest = depth;
    this.members.clear();
    this.meant = null;
  }

  /** Call it for a record that `where` excludes. */
  excluded(record: JsonObject): void {
    const fulfilled = this.where.findIndex(([name, wanted]) => record[name] !== wanted);
    if (fulfilled < this.fulfilled) return;
    if (fulfilled > this.fulfilled) this.values.clear();
    this.fulfilled = fulfilled;
    const [name = ''] = this.where[fulfilled] ?? [];
    addText(this.values, Object.hasOwn(record, name) ? JSON.stringify(record[name]) : '(no value)');
  }

  /** Null if the list that the path names was found empty, or if there was no element at all. */
  explain(): NoRecords | null {
    const path = formatDocumentPath([...this.outer, ...this.inner]);
    if (this.values.size > 0) {
      const [name, wanted] = this.where[this.fulfilled] ?? ['', null];
      const message = `${this.file} has no record at ${path} with ${name} = ${JSON.stringify(wanted)}. The values of ${name} in it are ${shown(this.values)}.`;
      return { message, option: 'where', isFault: false };
    }
    if (this.members.size === 0) return null;
    const step = this.inner[this.furthest];
    const missing = typeof step === 'string' ? shownName(step) : `[${String(step)}]`;
    const hint = this.meant === null ? '.' : `; did you mean ${shownName(this.meant)}?`;
    const place = formatDocumentPath([...this.outer, ...this.inner.slice(0, this.furthest)]);
    const message = `${this.file} has no list ${path}: ${place} has no ${missing}${hint} It has ${shown(this.members)}.`;
    return { message, option: 'at', isFault: this.meant !== null };
  }
}

/** True for a value into which the next step leads: a list also where the path ends. */
function isOnPath(value: JsonValue | undefined, next: PathStep | undefined): boolean {
  return typeof value === 'object' && value !== null && Array.isArray(value) === (typeof next !== 'string');
}

function addText(texts: Set<string>, text: string): void {
  if (texts.size >= TEXTS_MAX) return;
  texts.add(text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}…` : text);
}

/** A name with blanks, commas or control characters is put into quotes, so that people see where it ends. */
function shownName(name: string): string {
  return /^[^\s,"\p{C}]+$/u.test(name) ? name : JSON.stringify(name);
}

function shown(texts: ReadonlySet<string>): string {
  return `${[...texts].slice(0, TEXTS_SHOWN).join(', ')}${texts.size > TEXTS_SHOWN ? ' and others' : ''}`;
}
