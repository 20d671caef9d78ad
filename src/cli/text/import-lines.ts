// Whether bulk imports are used for new products and for changed ones, and why not.

import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import type { ImportProof, ImportProofs } from '../../domain/delivery/import-proof.ts';
import { UNUSED_IMPORTS } from '../../domain/words/holds.ts';
import type { Words } from '../../domain/words/word.ts';
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
    ...(profile.imports.creates === 'off' ? [] : linesOf(creates, now, UNUSED_IMPORTS.creates)),
    ...(profile.productUpdate === 'none' ? [] : linesOf(changes, now, UNUSED_IMPORTS.changes)),
  ];
}

function linesOf(proof: ImportProof, now: number, { title, cure }: Words): string[] {
  const isPutOff = proof.state === 'postponed' && now < proof.until;
  if (proof.state !== 'failed' && !isPutOff) return [];
  const again = isPutOff ? `after ${formatTime(proof.until)}` : 'when `imports` in the profile has changed';
  return ['', `${title} ${printable(proof.message)} Imports are tried again ${again}. ${cure}`];
}
