import { decodeXML } from 'entities/decode';
import { escapeUTF8 } from 'entities/escape';
import { withHiddenShown } from '../lib/text/safe-text.ts';

/** Markup that is sent unchanged. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Content = Html | string | number | null | readonly Content[];

/** Attributes that people read. All other attributes keep their values, because they are data or addresses. */
const READ_BY_PEOPLE = new Set(['aria-label', 'alt', 'data-label', 'placeholder', 'title']);
const IN_ATTRIBUTE = /([\w-]+)="[^"<>]*$/;
/** The text of this element is a value that the person sends again. */
const IN_TEXTAREA = /<textarea\b[^>]*>$/;

/** True if people read the content that stands after this markup. */
function isReadByPeople(before: string): boolean {
  const [, attribute] = IN_ATTRIBUTE.exec(before) ?? [];
  return attribute === undefined ? !IN_TEXTAREA.test(before) : READ_BY_PEOPLE.has(attribute);
}

/** @param parts the parts of the template before the content */
function render(content: Content, parts: () => readonly string[]): string {
  if (content === null) return '';
  if (content instanceof Html) return content.markup;
  if (typeof content === 'object') return content.map((one) => render(one, parts)).join('');
  const text = String(content);
  const shown = withHiddenShown(text);
  return escapeUTF8(shown === text || !isReadByPeople(parts().join('')) ? text : shown);
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

/**
 * Builds markup. All content is escaped, except markup that this function has built. Where people read the content, its
 * hidden characters are shown.
 */
export function html(parts: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(
    parts.reduce((before, part, at) => before + render(contents[at - 1] ?? null, () => parts.slice(0, at)) + part),
  );
}

/** Joins parts to a list in a sentence: `a, b and c`. */
export function joined(parts: readonly Html[]): Html {
  if (parts.length < 2) return html`${parts}`;
  const before = parts.slice(0, -1).map((part, at) => (at === 0 ? part : html`, ${part}`));
  return html`${before} and ${parts.at(-1) ?? null}`;
}
