import iconv from 'iconv-lite';

/** A row of an export: one cell for each column, as text. */
export interface Row<Column extends string> {
  cells: Record<Column, string>;
  /** Writes the cells without the quotes that they need, as an incorrect export does. */
  unquoted?: boolean;
}

export interface Table<Column extends string> {
  columns: readonly Column[];
  rows: Row<Column>[];
}

/** The bytes of a table, and the line on which each row begins, counted from 1. A quoted line break makes a row longer. */
export interface EncodedTable<Column extends string> {
  bytes: Buffer;
  lines: Map<Row<Column>, number>;
}

/** Writes a table as an ERP does on Windows: cp1252, semicolons, CRLF, and quotes only around cells that need them. */
export function encodeTable<Column extends string>({ columns, rows }: Table<Column>): EncodedTable<Column> {
  const lines = new Map<Row<Column>, number>();
  let text = `${columns.join(';')}\r\n`;
  let line = 2;
  for (const row of rows) {
    const cells = columns.map((column) => (row.unquoted ? row.cells[column] : quote(row.cells[column])));
    const written = `${cells.join(';')}\r\n`;
    lines.set(row, line);
    line += written.split('\n').length - 1;
    text += written;
  }
  return { bytes: encodeCp1252(text), lines };
}

function quote(cell: string): string {
  return /[;"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** U+0081 becomes the byte 0x81, which cp1252 leaves undefined. Any other character outside cp1252 is an error. */
function encodeCp1252(text: string): Buffer {
  const parts: Buffer[] = [];
  for (const [index, piece] of text.split('\u0081').entries()) {
    if (index > 0) parts.push(Buffer.of(0x81));
    const bytes = iconv.encode(piece, 'windows-1252');
    if (iconv.decode(bytes, 'windows-1252') !== piece)
      throw new Error('The export holds text that cp1252 cannot write.');
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
