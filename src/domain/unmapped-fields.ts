import type { Reason } from './delivery/reason.ts';
import { fieldNamesOf } from './item.ts';

/** The fields that the mappings of a stream give its products. */
export interface MappedFields {
  source: string;
  stream: string;
  /** The place of the first of these mappings in the config, such as `sources[0].mappings[1]`. */
  path: string;
  fields: readonly string[];
}

/** The stream that a product comes from. */
type FromStream = Pick<MappedFields, 'source' | 'stream'>;

/**
 * The advice about fields of a product that a business rule names in a refusal and that no mapping of the product's
 * stream gives. In full sentences; null if there are no such fields.
 *
 * @param mappedFields of all streams whose fields are known
 */
export function unmappedCure(
  reason: Reason,
  product: FromStream | null,
  mappedFields: readonly MappedFields[],
): string | null {
  const mapped = mappedFields.find(({ source, stream }) => source === product?.source && stream === product.stream);
  if (reason.code !== 'gate' || mapped === undefined) return null;
  const words = wordsOf(reason);
  const [first, ...others] = fieldNamesOf('product').filter((name) => words.has(name) && !mapped.fields.includes(name));
  if (first === undefined) return null;
  const names = [first, ...others].join(', ');
  return `No mapping gives ${names} to the product. Add ${others.length === 0 ? 'it' : 'them'} to \`fields\` of ${mapped.path} in the config.`;
}

/** The words of a refusal, without the marks around them: the platform may name a field in a sentence, as a key or in a list. */
function wordsOf({ message, fields = {} }: Reason): ReadonlySet<string> {
  const texts = [message, ...Object.entries(fields).flat()];
  return new Set(texts.flatMap((text) => text.split(/[\s,;:]+/)).map((word) => word.replace(/^\W+|\W+$/g, '')));
}
