/** The parser holds a text until it ends, also one that belongs to no record. */
const TEXT_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Notices when a parser gathers too much text: it compares the parser's events with the characters that were given in between. */
export class TextBounds {
  /** The longest text, comment or attribute. */
  readonly max: number;
  /** Characters that entities stood for, in the whole document. */
  expanded = 0;
  private events = 0;
  private eventsBefore = 0;
  private quiet = 0;
  private expandedSince = 0;
  private expandedAt = -1;

  constructor(maxRecordBytes: number) {
    this.max = Math.max(TEXT_CHARACTERS_MAX, maxRecordBytes);
  }

  /** The parser has finished something. */
  event(): void {
    this.events++;
  }

  /**
   * Call it after the parser was given a piece, with its number of characters. Returns true if the parser has gathered
   * too many.
   */
  fed(characters: number): boolean {
    this.quiet = this.events === this.eventsBefore ? this.quiet + characters : 0;
    this.eventsBefore = this.events;
    return this.quiet > this.max;
  }

  /**
   * Call it for each expanded entity, with its number of characters. Returns true if the entities of one text have too
   * many.
   */
  expand(characters: number): boolean {
    if (this.expandedAt !== this.events) this.expandedSince = 0;
    this.expandedAt = this.events;
    this.expandedSince += characters;
    this.expanded += characters;
    return this.expandedSince > this.max;
  }
}
