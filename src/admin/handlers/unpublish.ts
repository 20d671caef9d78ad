import type { Handler } from '../handler.ts';
import { changePassports, PassportsAsked, type PassportsChanged } from '../passports-by-hand.ts';

/** Withdraws the passports of products. */
export const unpublishPassports: Handler<PassportsAsked, PassportsChanged> = {
  name: 'unpublish',
  request: PassportsAsked,
  handle: (request, context) => changePassports(request, 'unpublished', context),
};
