import type { JsonValue } from '../../lib/json.ts';
import { valueAt } from '../document-path.ts';
import { textOf } from './placeholders.ts';
import type { RestFailure } from './rest-options.ts';

/** What an answer with a good status says about a request that has failed. */
interface Refusal {
  text: string;
  /** The code of a failure that only means: later again. */
  again: string | null;
}

/** The first failure that an answer states; null if it states none. */
export function refusalIn(document: JsonValue, failures: readonly RestFailure[]): Refusal | null {
  for (const { at, again } of failures) {
    const found = valueAt(document, at);
    if (found === undefined || found === null || found === false) continue;
    if (Array.isArray(found) && found.length === 0) continue;
    const code = again === undefined ? undefined : valueAt(document, again.at);
    const isPassing = code !== undefined && again?.is.includes(textOf(code)) === true;
    return { text: textOf(found), again: isPassing ? textOf(code) : null };
  }
  return null;
}
