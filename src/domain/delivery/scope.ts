import { OPERATIONS, type Operation } from './operation.ts';

/** The scopes that an API key can have. */
export const SCOPES = ['read', 'write', 'publish'] as const;
export type Scope = (typeof SCOPES)[number];

/** The scope that a write needs. A read-back needs `read`. */
export function scopeOfWrite(operation: Operation): Scope {
  return operation === 'passport.publish' || operation === 'passport.unpublish' ? 'publish' : 'write';
}

/** What the API can refuse by itself: one kind of write, or the reading of lists. */
export type Access = Operation | 'read';

export function scopeOf(access: Access): Scope {
  return access === 'read' ? 'read' : scopeOfWrite(access);
}

/** Everything that needs a scope. */
export function accessesOf(scope: Scope): Access[] {
  return scope === 'read' ? ['read'] : OPERATIONS.filter((operation) => scopeOfWrite(operation) === scope);
}
