/** The tokens of the structure of a JSON text. Values that are neither lists nor objects are left out. */
export type JsonToken = { kind: 'list' | 'object' | 'close' } | { kind: 'name'; text: string };

const NAME_MAX = 200;

/**
 * Returns the structure of a JSON text that may be cut off anywhere. Text that is not JSON also gives tokens: the
 * connector, which reads the whole file, reports such text.
 */
export function* jsonTokens(text: string): Generator<JsonToken> {
  let at = 0;
  while (at < text.length) {
    const sign = text[at];
    if (sign === '"') {
      const end = endOfString(text, at);
      if (isName(text, end)) yield { kind: 'name', text: nameIn(text.slice(at, end)) };
      at = end;
      continue;
    }
    if (sign === '{') yield { kind: 'object' };
    else if (sign === '[') yield { kind: 'list' };
    else if (sign === '}' || sign === ']') yield { kind: 'close' };
    at += 1;
  }
}

/** The position after the closing quote, or the end of the text. */
function endOfString(text: string, opening: number): number {
  for (let at = opening + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function isName(text: string, end: number): boolean {
  const rest = /\s*(.?)/sy;
  rest.lastIndex = end;
  return rest.exec(text)?.[1] === ':';
}

function nameIn(quoted: string): string {
  try {
    return String(JSON.parse(quoted)).slice(0, NAME_MAX);
  } catch {
    return quoted.slice(1, NAME_MAX);
  }
}
