import { type ImportProof, isPutOff, provenSize, sizeAfter } from '../../domain/delivery/import-proof.ts';

/** What the size of imports depends on. */
export interface ImportGain {
  /** How many products are due. */
  due: number;
  /** How many entries the platform's list of products is known to have. */
  listed: number;
}

/**
 * The size of imports that needs the fewest requests, with the lists that have to be read for the proofs on the way to
 * that size. Without a proof the first import has one product. Returns 0 if single requests need the fewest.
 */
export function bestSize(
  { due, listed }: ImportGain,
  { proof, sizeMax, pageSize, now }: { proof: ImportProof; sizeMax: number; pageSize: number; now: number },
): number {
  const pages = Math.ceil((listed + due) / pageSize);
  // The products that answers do not name are looked up in a list.
  const afterwards = proof.state === 'proven' && proof.answersIds ? 0 : pages;
  let best = { size: 0, cost: due };
  if (isPutOff(proof, now)) return 0;
  let lists = 0;
  let size = Math.min(provenSize(proof), sizeMax);
  const consider = (): void => {
    const cost = Math.ceil(due / size) + lists + afterwards;
    if (cost < best.cost) best = { size, cost };
  };
  if (size > 1) consider();
  while (size < Math.min(sizeMax, due)) {
    size = Math.min(sizeAfter(size), sizeMax);
    lists += pages;
    consider();
  }
  return best.size;
}
