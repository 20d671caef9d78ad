// Writes cases as YAML, for people to read and change.

import { Document, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { MappingCase } from '../../domain/mapping-case.ts';
import { withHiddenShown } from '../../lib/text/safe-text.ts';

const OPTIONS = { lineWidth: 0, blockQuote: false } as const;

/** A case in the form of the file. The source is left out if the stream alone shows it. */
function written({ name, given, expect }: MappingCase, isSourceKnown: boolean): object {
  const { source, stream, row, lookups } = given;
  const { issue, ...others } = expect;
  return {
    name,
    given: {
      ...(isSourceKnown ? {} : { source }),
      stream,
      row,
      ...(Object.keys(lookups).length === 0 ? {} : { lookups }),
    },
    expect: { ...others, ...(issue === undefined ? {} : { issue: issue.length === 1 ? issue[0] : issue }) },
  };
}

/** The text of a new file with one case. */
export function newCasesText(configName: string, one: MappingCase, isSourceKnown: boolean): string {
  return `# Cases of the mappings in ${configName}: a row, and what it becomes. \`dpp-sync test\` runs them without key, network or ledger.
# \`dpp-sync test --record KEY\` adds a case from a stored row. docs/tests.md describes the file.

${textOf(new Document({ cases: [written(one, isSourceKnown)] }))}`;
}

/** True for a file in which no case stands yet. A run refuses such a file. */
export function hasNoCase(text: string): boolean {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !(document.contents === null || isMap(document.contents))) return false;
  const cases = document.get('cases');
  return cases === undefined || cases === null || (isSeq(cases) && cases.items.length === 0);
}

/** The text of a file with one more case at its end. Everything that stands in the file stays as it is. */
export function withCase(text: string, one: MappingCase, isSourceKnown: boolean): string {
  const document = parseDocument(text);
  const cases = document.get('cases', true);
  if (isSeq(cases) && cases.flow !== true && cases.items.length > 0) {
    const [start] = cases.range ?? [0];
    const indent = ' '.repeat(start - text.lastIndexOf('\n', start - 1) - 1);
    const lines = textOf(new Document([written(one, isSourceKnown)]))
      .trimEnd()
      .split('\n');
    return `${text.trimEnd()}\n\n${lines.map((line) => `${indent}${line}`).join('\n')}\n`;
  }
  // There is no case yet, or the file has another form, such as JSON.
  const entry = document.createNode(written(one, isSourceKnown));
  if (isSeq(cases)) cases.add(entry);
  else {
    const list = document.createNode([entry]);
    list.commentBefore = (isScalar(cases) ? cases.comment : null) ?? null;
    document.set('cases', list);
  }
  return textOf(document);
}

/** The text of a document in which each character can be seen. */
function textOf(document: Document): string {
  visit(document, {
    Scalar(_key, node) {
      // Only between double quotes an escape stands for a character.
      if (typeof node.value === 'string' && withHiddenShown(node.value) !== node.value) node.type = 'QUOTE_DOUBLE';
    },
  });
  return withHiddenShown(document.toString(OPTIONS));
}
