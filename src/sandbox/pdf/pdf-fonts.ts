import { createRequire } from 'node:module';

/** The two faces of every document. pdfkit embeds the glyphs that a document uses. */
export const FACES = ['regular', 'bold'] as const;
export type Face = (typeof FACES)[number];

/** Fonts as a document takes them. */
export interface PdfFonts {
  /** Where the files are, in the package that brings them. */
  files: Record<Face, string>;
  /**
   * The text as these fonts can write it: composed (NFC), with tabs as spaces, line ends as `\n`, and U+FFFD for each
   * character that they have no glyph for. Words of more than 200 letters get places where a line may break.
   */
  writable(text: string): string;
}

/** Stands where a glyph is missing. Both faces have it. */
export const MISSING = '\u{fffd}';

/**
 * DejaVu Sans Condensed: Latin, Greek, Cyrillic, Armenian and Georgian letters and many symbols. Hebrew and Arabic words
 * are right in themselves, but pdfkit puts them one after another from left to right. Chinese, Japanese and Korean are
 * missing. All of it is loaded by the call: only a sandbox that draws a document pays for it.
 */
export async function loadPdfFonts(): Promise<PdfFonts> {
  const { openSync } = await import('fontkit');
  const require = createRequire(import.meta.url);
  const files = {
    regular: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSansCondensed.ttf'),
    bold: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSansCondensed-Bold.ttf'),
  };
  const fonts = FACES.map((face) => openSync(files[face]));
  const known = (letter: string): boolean =>
    letter === '\n' || fonts.every((font) => font.hasGlyphForCodePoint(letter.codePointAt(0) ?? 0));
  return {
    files,
    writable(text) {
      const plain = text.normalize('NFC').replace(/\r\n?/g, '\n').replaceAll('\t', ' ');
      const shown = /^[ -~]*$/.test(plain)
        ? plain
        : Array.from(plain, (letter) => (known(letter) ? letter : MISSING)).join('');
      return shown.replace(ENDLESS_WORD, (word) => word.replace(/.{100}/gu, '$&\u{200b}'));
    },
  };
}

/** pdfkit measures the whole rest of a word for each line that it breaks it into: the square of its length. */
const ENDLESS_WORD = /\S{201,}/gu;
