import { fileURLToPath } from 'node:url';
import { messageOf } from './errors.ts';

/**
 * Why a module could not be imported: a clause without a full stop. For a mistake in the text of a module, the clause
 * has the file and the line.
 */
export function importReasonOf(error: unknown): string {
  const reason = messageOf(error).replace(/\.$/, '');
  const place = error instanceof SyntaxError ? placeOf(error) : null;
  return place === null ? reason : `${place}: ${reason}`;
}

/**
 * True if Node read an ES module as CommonJS, because of the nearest package.json, such as the one that `npm init`
 * makes.
 */
export function isEsModuleReadAsCommonJs(error: unknown): boolean {
  return (
    error instanceof SyntaxError &&
    /^(?:Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module)$/.test(
      error.message,
    )
  );
}

/**
 * Node writes the file and the line before the message in the stack; for an ES module Node shows them only on the
 * terminal.
 */
function placeOf({ stack }: Error): string | null {
  const [, file, line] = /^(file:.+|\/.+|[A-Za-z]:\\.+):(\d+)\n/.exec(stack ?? '') ?? [];
  if (file === undefined || line === undefined) return null;
  return `${file.startsWith('file:') ? fileURLToPath(file) : file}, line ${line}`;
}
