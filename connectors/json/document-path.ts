/** One step into a document: the name of a member, or an index. */
export type PathStep = string | number;

const STEP = /^(?:\.([A-Za-z_][\w-]*)|\[(\d{1,9})\]|\["([^"\\]*)"\]|\['([^'\\]*)'\])/;
const PLAIN_NAME = /^[A-Za-z_][\w-]*$/;

/** Parses `$`, `$.data.parts`, `$["data set"]`, `$.pages[0].items`; null when the text is no such path. */
export function parseDocumentPath(text: string): PathStep[] | null {
  if (!text.startsWith('$')) return null;
  const steps: PathStep[] = [];
  let rest = text.slice(1);
  while (rest !== '') {
    const match = STEP.exec(rest);
    if (match === null) return null;
    const [whole, plain, index, double, single] = match;
    steps.push(index === undefined ? (plain ?? double ?? single ?? '') : Number(index));
    rest = rest.slice(whole.length);
  }
  return steps;
}

/** Writes steps as `parseDocumentPath` reads them. */
export function formatDocumentPath(steps: readonly PathStep[]): string {
  const parts = steps.map((step) =>
    typeof step === 'number' ? `[${step}]` : PLAIN_NAME.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`,
  );
  return `$${parts.join('')}`;
}
