import type { MappingDefinition } from '../../domain/mapping.ts';
import type { IdentifyingMapping } from '../../domain/stream-identity.ts';
import { evaluateWhen } from './expressions/apply-expressions.ts';
import type { ExpressionMapping } from './expressions/compile-expressions.ts';
import { readKey } from './expressions/expression.ts';
import type { Meter } from './expressions/meter.ts';
import { rowScope } from './expressions/scope.ts';

/**
 * The mapping as one that may identify rows. Null with `each`, because a row has many keys then, and for a key that is looked
 * up, because it changes with the table. A `when` that looks something up does not count.
 */
export function identifyingMapping(
  { key: keyText = '', path }: MappingDefinition,
  { kind, each, key, when }: ExpressionMapping,
  meter: Meter,
): IdentifyingMapping | null {
  if (each !== null || key.looksUp) return null;
  const ofRow = when?.looksUp === true ? null : when;
  return {
    expressions: JSON.stringify([kind, key.text, ofRow?.text ?? null]),
    path,
    key: keyText.trim(),
    keyOf(fields) {
      meter.startRow();
      const scope = rowScope(fields);
      const wanted = evaluateWhen(ofRow, scope);
      return wanted.ok && !wanted.value ? null : readKey(key, scope);
    },
  };
}
