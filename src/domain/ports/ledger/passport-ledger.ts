import type { PassportAnswer, UnpublishedPage } from '../../passport.ts';

/** Stages deliveries of passports, as the policy or people want. Each method is one whole transaction. */
export interface PassportLedger {
  /**
   * Evaluates the passports of a page of products, in the order of their keys. It stages what the policy wants for
   * complete products, sends stuck passports again after a part of their product was delivered, and withdraws passports
   * of missing products. Returns how many deliveries were staged, and the last key; null at the end.
   */
  evaluatePassports(request: {
    afterKey: string | null;
    limit: number;
  }): Promise<{ staged: number; lastKey: string | null }>;
  /**
   * A page of products whose passports are not published, in the order of their keys; products that are gone from their
   * sources are left out. `withdrawn` counts the passports that a person has withdrawn. `lastKey` is null at the end.
   */
  unpublishedPassports(request: { afterKey: string | null; limit: number }): Promise<UnpublishedPage>;
  /** Publishes or withdraws passports at a person's request, by keys or natural keys of their products. */
  askForPassports(request: {
    products: readonly string[];
    status: 'published' | 'unpublished';
  }): Promise<PassportAnswer[]>;
}
