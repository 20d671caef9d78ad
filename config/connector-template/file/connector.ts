import {
  createPageBuffer,
  defineFileConnector,
  Encoding,
  type OpenFile,
  type Page,
  RAW_FIELD,
  readFileText,
  type SourceRow,
  sourceFault,
} from 'dpp-sync/sdk';

/** The longest article that is accepted, in characters. */
const ARTICLE_MAX = 1024 * 1024;

/** Reads catalogues in which an article is a block of `KEY: value` lines, and an empty line ends it. */
export default defineFileConnector({
  id: '{{id}}',
  title: 'Catalogues of KEY: value lines',
  options: { encoding: Encoding.default('utf-8') },
  streamOptions: {},
  read: (file, { options, signal }) => readArticles(file, options.encoding, signal),
});

/** Gives pages of articles. The program asks for the next page when it has stored the last one. */
async function* readArticles(file: OpenFile, encoding: string, signal: AbortSignal): AsyncGenerator<Page> {
  const page = createPageBuffer();
  for await (const article of articlesOf(file, encoding, signal)) {
    if (!page.add(rowOf(article, file.name), article.text.length)) continue;
    signal.throwIfAborted();
    yield page.take({ done: file.position(), total: file.bytes });
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

interface Article {
  /** The line on which it begins, from 1. */
  line: number;
  text: string;
}

/** A line that is no `KEY: value` costs its own article, which is quarantined. The articles after it are read. */
function rowOf({ line, text }: Article, file: string): SourceRow {
  const fields: Record<string, string> = {};
  for (const [at, entry] of text.trimEnd().split('\n').entries()) {
    const match = /^([A-Z_]+): ?(.*)$/.exec(entry);
    if (match === null) {
      return {
        fields: { [RAW_FIELD]: text },
        place: { file, line },
        issues: [
          {
            code: 'row.line',
            message: `Line ${line + at} has no key: ${JSON.stringify(entry)}.`,
            cure: 'Write it as KEY: value.',
          },
        ],
      };
    }
    fields[match[1] ?? ''] = match[2] ?? '';
  }
  return { fields, place: { file, line } };
}

/** Cuts the text of a file into articles. At most one article and one piece of the file are in memory. */
async function* articlesOf(file: OpenFile, encoding: string, signal: AbortSignal): AsyncGenerator<Article> {
  let article: Article = { line: 1, text: '' };
  let line = 1;
  let rest = '';
  for await (const { text, final } of readFileText(file, { encoding, format: 'a catalogue', signal })) {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    // The last article may end without an empty line.
    if (final) lines.push(rest, '');
    for (const one of lines) {
      line += 1;
      if (one.trim() !== '') {
        article.text += `${one}\n`;
        continue;
      }
      if (article.text !== '') yield article;
      article = { line, text: '' };
    }
    if (article.text.length + rest.length <= ARTICLE_MAX) continue;
    throw sourceFault(`${file.name}, line ${article.line}: the article is longer than ${ARTICLE_MAX} characters.`, {
      suggestion: 'Check that an empty line ends each article.',
    });
  }
}
