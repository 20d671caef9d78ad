import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** True for a change that lacks the CSRF token of its session. A program that sends its own token needs none. */
export function isForged({ visit }: Pick<FastifyRequest, 'visit'>, token: unknown): boolean {
  if (visit?.person.by === 'token') return false;
  const given = Buffer.from(typeof token === 'string' ? token : '');
  const expected = Buffer.from(visit?.session?.csrf ?? '');
  return expected.length === 0 || given.length !== expected.length || !timingSafeEqual(given, expected);
}

export const OLD_FORM = 'This form is older than your login. Go back, load the page again, and send the form again.';
