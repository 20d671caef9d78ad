import { OPERATIONS, type Operation } from './operation.ts';

/** The scopes that an API key can have. */
export const SCOPES = ['read', 'write', 'publish'] as const;
export type Scope = (typeof SCOPES)[number];

/** The scope that a write needs. A read-back needs `read`. */
export function scopeOfWrite(operation: Operation): Scope {
  return operation === 'passport.publish' || operation === 'passport.unpublish' ? 'publish' : 'write';
}

/** The writes that need one of these scopes. */
export function writesThatTake(scopes: readonly Scope[]): Operation[] {
  return OPERATIONS.filter((operation) => scopes.includes(scopeOfWrite(operation)));
}
