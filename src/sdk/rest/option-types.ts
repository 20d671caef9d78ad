// The kinds of values that several options of REST sources have.

import { z } from 'zod';
import { isLoopback } from '../../lib/loopback.ts';
import { parsePeriod } from '../../lib/text/amounts.ts';
import { secret } from '../connector.ts';
import { parseDocumentPath } from '../document-path.ts';

/** A path into an answer, such as `$.data.items` or `$["@odata.nextLink"]`, as its steps. */
export const Path = z.string().transform((text, context) => {
  const steps = parseDocumentPath(text);
  if (steps !== null) return steps;
  context.addIssue({ code: 'custom', message: 'a path such as $.data.items or $["@odata.nextLink"]' });
  return z.NEVER;
});

export const Time = z.string().transform((text, context) => {
  const ms = parsePeriod(text);
  if (ms !== null) return ms;
  context.addIssue({ code: 'custom', message: 'a time such as 30s, 15m, 12h or 7d' });
  return z.NEVER;
});

export const Address = z
  .string()
  .refine(isSafeAddress, {
    error: 'an address with https:// (http:// only for this machine), without a user, a query or a fragment',
  })
  // A variable may end with a slash before a path: `${SAP_URL}/sap`.
  .overwrite((text) => text.replaceAll(/(?<!:)\/{2,}/g, '/'));

function isSafeAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  const isEncrypted = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  return isEncrypted && `${username}${password}${search}${hash}` === '';
}

export const Text = z.string().min(1);

/** Never an address: a request to another server would send the login there. */
export const RelativePath = z
  .string()
  .regex(/^(?![A-Za-z][\w+.-]*:)(?!\s)/, 'a path relative to `base`, such as items or api/items, without a scheme');

export const Secrets = z.record(z.string(), secret());
