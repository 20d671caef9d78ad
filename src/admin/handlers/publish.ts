import type { Handler } from '../handler.ts';
import { changePassports, PassportsAsked, type PassportsChanged } from '../passports-by-hand.ts';

/** Publishes the passports of products that are complete. */
export const publishPassports: Handler<PassportsAsked, PassportsChanged> = {
  name: 'publish',
  request: PassportsAsked,
  handle: (request, context) => changePassports(request, 'published', context),
};
