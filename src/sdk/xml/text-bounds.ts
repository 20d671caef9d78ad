/** The longest text. The parser keeps a text in memory until the text ends, even if it belongs to no record. */
const TEXT_CHARACTERS_MAX = 16 * 1024 * 1024;

/**
 * Notices when a parser collects too much text. It counts the characters that the parser got between two of its events.
 */
export class TextBounds {
  /** The longest text, comment or attribute. */
  readonly max: number;
  /** How many characters the texts of entities had in the whole document. */
  expanded = 0;
  private events = 0;
  private eventsBefore = 0;
  private quiet = 0;
  private expandedSince = 0;
  private expandedAt = -1;

  constructor(maxRecordBytes: number) {
    this.max = Math.max(TEXT_CHARACTERS_MAX, maxRecordBytes);
  }

  /** Call it at each event of the parser. */
  event(): void {
    this.events++;
  }

  /**
   * Call it after the parser got a piece, with its number of characters. Returns true if the parser has collected too
   * many.
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
