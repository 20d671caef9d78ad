// One product with its parts, as the proposed mappings join them.

import { itemsOf, type Sampled } from './check-proposal.ts';
import type { ProposedMapping } from './proposed-line.ts';

/** A product of the samples, with the parts that its BOM items name. */
export interface JoinedProduct {
  key: string;
  name: string | null;
  parts: {
    quantity: string | null;
    unit: string | null;
    key: string;
    /** Null if no file has the part. */
    name: string | null;
  }[];
}

/** The first product whose parts are all in the samples, or else one of which most are. Null without BOM items of a product. */
export async function joinedProduct(
  records: readonly { mapping: ProposedMapping; sampled: Sampled }[],
): Promise<JoinedProduct | null> {
  const names = new Map<string, string>();
  const parts = new Map<string, JoinedProduct['parts']>();
  const items = await Promise.all(records.map(({ mapping, sampled }) => itemsOf(mapping, sampled)));
  // An assembly that stands twice in a bill makes each of its items twice.
  const all = [...new Map(items.flat().map((item) => [`${item.kind} ${item.key}`, item])).values()];
  for (const { kind, key, payload } of all)
    if (kind !== 'bom_item') names.set(`${kind} ${key}`, textOf(payload['name']) ?? key);
  const nameOfPart = (key: string, isEither: boolean, kind: string): string | null =>
    names.get(`${kind} ${key}`) ?? (isEither ? (names.get(`material ${key}`) ?? null) : null);
  for (const { kind, payload, refs } of all) {
    const product = refs.find(({ role }) => role === 'product');
    const part = refs.find(({ role }) => role !== 'product');
    if (kind !== 'bom_item' || product === undefined || part === undefined) continue;
    const of = parts.get(product.key) ?? [];
    parts.set(product.key, of);
    of.push({
      quantity: textOf(payload['quantity']),
      unit: textOf(payload['unit']),
      key: part.key,
      name: nameOfPart(part.key, part.either === true, part.kind),
    });
  }
  const known = [...parts].filter(([key]) => names.has(`product ${key}`));
  const lacking = (of: JoinedProduct['parts']): number => of.filter(({ name }) => name === null).length;
  const [best] = known.toSorted(([, one], [, other]) => lacking(one) - lacking(other));
  if (best === undefined) return null;
  const [key, ofBest] = best;
  return { key, name: names.get(`product ${key}`) ?? null, parts: ofBest };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}
