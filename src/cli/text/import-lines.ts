// Whether bulk imports are used for new products and for changed ones, and why not.

import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import type { ImportProof, ImportProofs } from '../../domain/delivery/import-proof.ts';
import { isoOrNull } from '../../operations/result-documents.ts';
import { formatTime, printable } from './style.ts';

export function importDocuments({ creates, changes }: ImportProofs, { profile }: RuntimeConfig): object {
  return {
    creates: profile.imports.creates === 'off' ? { state: 'off' } : importDocument(creates),
    changes: profile.productUpdate === 'none' ? { state: 'off' } : importDocument(changes),
  };
}

function importDocument(given: ImportProof): object {
  // The form of the answers is of no use to people.
  const { form: _, ...proof } = { form: [], ...given };
  if (proof.state === 'failed') return { ...proof, at: isoOrNull(proof.at) };
  return proof.state === 'postponed' ? { ...proof, at: isoOrNull(proof.at), until: isoOrNull(proof.until) } : proof;
}

/** The lines that say why imports are not used; empty if they are. */
export function importLines({ creates, changes }: ImportProofs, { profile }: RuntimeConfig, now: number): string[] {
  return [
    ...(profile.imports.creates === 'off' ? [] : linesOf(creates, now, CREATES_LINE)),
    ...(profile.productUpdate === 'none' ? [] : linesOf(changes, now, CHANGES_LINE)),
  ];
}

function linesOf(proof: ImportProof, now: number, { what, cure }: typeof CREATES_LINE): string[] {
  const isPutOff = proof.state === 'postponed' && now < proof.until;
  if (proof.state !== 'failed' && !isPutOff) return [];
  const again = isPutOff ? `after ${formatTime(proof.until)}` : 'when `imports` in the profile has changed';
  return ['', `${what} ${printable(proof.message)} Imports are tried again ${again}. ${cure}`];
}

const CREATES_LINE = {
  what: 'New products are sent one by one and not in bulk imports.',
  cure: 'To use no imports for new products, set `imports.creates: off` in the profile.',
};
const CHANGES_LINE = {
  what: 'Changed products are not sent.',
  cure: 'If the import of the platform updates no products, set `productUpdate: none` in the profile. If it updates them now, run `dpp-sync replay`.',
};
