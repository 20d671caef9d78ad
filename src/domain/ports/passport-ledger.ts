import type { PassportAnswer, UnpublishedPage } from '../passport.ts';

/** Passports: what the policy wants of them, and what people ask for. Each method is one whole transaction. */
export interface PassportLedger {
  /**
   * Judges the passports of a page of products, in the order of their keys: stages what the policy wants of those that are
   * complete, asks again for those that got stuck and of which something was delivered since, and withdraws those of
   * missing products. Gives how many deliveries that staged, and the last key, null at the end.
   */
  evaluatePassports(request: {
    afterKey: string | null;
    limit: number;
  }): Promise<{ staged: number; lastKey: string | null }>;
  /**
   * A page of products whose passports are not published, in the order of their keys; products that are gone from their
   * sources are left out. `withdrawn` counts those that a person has withdrawn. `lastKey` is null at the end.
   */
  unpublishedPassports(request: { afterKey: string | null; limit: number }): Promise<UnpublishedPage>;
  /** Asks for passports to be published or withdrawn on a person's word, by keys or natural keys of their products. */
  askForPassports(request: {
    products: readonly string[];
    status: 'published' | 'unpublished';
  }): Promise<PassportAnswer[]>;
}
