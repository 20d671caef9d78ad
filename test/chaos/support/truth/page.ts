// The figures of a page: those with a link, those in a table, and those in sentences. What is left must have no digit.

/** A figure that something shows, and what it is by the books. */
export interface Claim {
  where: string;
  what: string;
  shown: number | string;
  is: number | string;
}

const number = (text: string): number => Number(text.replaceAll(',', ''));
const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const decoded = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
const textOf = (markup: string): string => decoded(markup.replace(/<[^>]*>/g, '')).trim();

/** What is no figure of the program: pictures (each has a table), choices of a filter, hidden fields, times, code, names. */
const NO_FIGURES = [
  /<svg[\s\S]*?<\/svg>/g,
  /<select[\s\S]*?<\/select>/g,
  /<time[\s\S]*?<\/time>/g,
  /<code[\s\S]*?<\/code>/g,
  /<(?:input|img)[^>]*>/g,
  /<span class="mono">[\s\S]*?<\/span>/g,
  // The values of rows, in the titles of causes.
  /“[^”]*”(?: \(\d[\d,]*\))?/g,
];

/** The cells of a row, by the head of their column. */
export type Row = Map<string, string>;

/** Links whose text is the name of something: of an item, a run, or a file. */
const NAMED = /^\/(?:items|runs)\/./;

export class PageFigures {
  readonly claims: Claim[] = [];
  #rest: string;
  readonly #cells: Row[] = [];

  readonly path: string;

  constructor(path: string, body: string) {
    this.path = path;
    const main = /<main[\s\S]*<\/main>/.exec(body)?.[0] ?? '';
    this.#rest = NO_FIGURES.reduce((text, pattern) => text.replace(pattern, ' '), main);
  }

  claim(what: string, shown: number | string, is: number | string): void {
    this.claims.push({ where: this.path, what, shown, is });
  }

  /**
   * Takes the figure at the head of each link. `is` says what it has to be, by the address and the text of the link; null for a link
   * whose figure is checked with its sentence.
   */
  links(is: (href: string, text: string) => number | null): void {
    this.#rest = this.#rest.replace(
      /<a [^>]*href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g,
      (_link, address: string, markup: string) => {
        const text = textOf(markup);
        const href = decoded(address);
        const [figure = ''] = /^[\d,]*\d(?= |$)/.exec(text) ?? [];
        const expected = figure === '' ? null : is(href, text);
        if (expected === null) return ` ${NAMED.test(href) ? '' : text} `;
        this.claim(`${text} → ${href}`, number(figure), expected);
        return ` ${text.slice(figure.length)} `;
      },
    );
  }

  /** Takes the tables out: the rows of all of them, each as its cells by the head of their column. */
  rows(): Row[] {
    const rows: Row[] = [];
    this.#rest = this.#rest.replace(/<table[\s\S]*?<\/table>/g, (table) => {
      const cells = (row: string) =>
        Array.from(row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g), ([, cell = '']) => textOf(cell));
      const [head = '', ...others] = table.match(/<tr[\s\S]*?<\/tr>/g) ?? [];
      const names = cells(head);
      for (const other of others) {
        rows.push(new Map(cells(other).map((cell, at) => [names[at] ?? '', cell])));
      }
      return ' ';
    });
    this.#cells.push(...rows);
    return rows;
  }

  /** Takes a cell of a row, if it has a figure. */
  cell(row: Row, name: string, is: number, what: string): void {
    const [figure] = /^[\d,]*\d/.exec(row.get(name) ?? '') ?? [];
    if (figure === undefined) return;
    this.claim(what, number(figure), is);
    row.set(name, (row.get(name) ?? '').slice(figure.length));
  }

  /** Takes each match of a pattern. The groups are figures, and `is` says what they have to be. */
  sentence(pattern: RegExp, ...is: (number | null)[]): number {
    let count = 0;
    this.#rest = this.#rest.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    this.#rest = this.#rest.replace(new RegExp(pattern, 'g'), (match, ...groups: unknown[]) => {
      count += 1;
      is.forEach((expected, at) => {
        if (expected !== null) this.claim(match, number(String(groups[at])), expected);
      });
      return ' ';
    });
    return count;
  }

  /** Takes each match of a pattern, and returns the groups of each. */
  texts(pattern: RegExp): string[][] {
    this.sentence(/$^/);
    const found = Array.from(this.#rest.matchAll(new RegExp(pattern, 'g')), ([, ...groups]) => groups);
    this.sentence(pattern);
    return found;
  }

  /** Takes each match of a pattern, and returns its figures. */
  figures(pattern: RegExp): number[] {
    return this.texts(pattern).map(([figure = '0']) => number(figure));
  }

  /** Everything that has a digit and was not taken is a claim that no book confirms. */
  end(): void {
    const cells = this.#cells.flatMap((row) => [...row.values()]);
    const texts = [textOf(this.#rest.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' '), ...cells];
    for (const text of texts) {
      for (const [found] of text.matchAll(/.{0,40}\d.{0,40}/g)) this.claim('a figure that nothing checks', found, '');
    }
  }
}
