/** The type and the default of one attribute: `mode (new | old) "new"`. */
const ATTRIBUTE =
  /\s+([^\s"'<>()|%]+)\s+(?:NOTATION\s*\([^()]*\)|\([^()]*\)|[A-Z]+)\s+(?:#REQUIRED|#IMPLIED|(?:#FIXED\s+)?(?:"([^"<]*)"|'([^'<]*)'))/y;

export interface AttributeList {
  element: string;
  /** The names of attributes with the texts between their quotes. Attributes without a default are left out. */
  defaults: [name: string, text: string][];
}

/** Reads `<!ATTLIST element …>` up to the first part that does not have this form. Null for another declaration. */
export function attributeListOf(declaration: string): AttributeList | null {
  const head = /^<!ATTLIST\s+([^\s"'<>()|%]+)/.exec(declaration);
  if (head === null) return null;
  const attribute = new RegExp(ATTRIBUTE, 'y');
  attribute.lastIndex = head[0].length;
  const defaults: AttributeList['defaults'] = [];
  for (let match = attribute.exec(declaration); match !== null; match = attribute.exec(declaration)) {
    const [, name = '', double, single] = match;
    const text = double ?? single;
    if (text !== undefined) defaults.push([name, text]);
  }
  return { element: head[1] ?? '', defaults };
}
