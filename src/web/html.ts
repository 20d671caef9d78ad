import { decodeXML } from 'entities/decode';
import { escapeUTF8 } from 'entities/escape';

/** Markup that is sent unchanged. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Content = Html | string | number | null | readonly Content[];

function render(content: Content): string {
  if (content === null) return '';
  if (content instanceof Html) return content.markup;
  if (typeof content === 'object') return content.map(render).join('');
  return escapeUTF8(String(content));
}

/** The ends of elements after which a new line begins. */
const BLOCK_END = /<\/(?:p|li|h\d|ul|div)>/;

/** A paragraph with only one link. It only leads to another page, so it is left out of the text. */
const LINK_ALONE = /<p>\s*<a [^>]*>[^<]*<\/a>\s*<\/p>/g;

/** The sentences of markup as one line of text. */
export function plainText({ markup }: Html): string {
  const lines = markup
    .replaceAll(LINK_ALONE, '')
    .split(BLOCK_END)
    .map((line) =>
      line
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
  const sentences = lines.filter((line) => line !== '').map((line) => (/[.:!?]$/.test(line) ? line : `${line}.`));
  return decodeXML(sentences.join(' '));
}

/** Builds markup. All content is escaped, except markup that this function has built. */
export function html(parts: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(parts.reduce((before, part, at) => before + render(contents[at - 1] ?? null) + part));
}
