import { expect, test } from 'vitest';
import { isSupported, scopeOf } from '../../../src/api/endpoints.ts';
import {
  accessesOf,
  OPERATIONS,
  SCOPES,
  scopeOf as scopeOfAccess,
  scopeOfWrite,
} from '../../../src/domain/delivery/operation.ts';
import { Profile } from '../../../src/domain/profile.ts';

test.each(OPERATIONS.filter(isSupported))('%s takes the scope that its endpoint asks for', (operation) => {
  expect(scopeOfWrite(operation)).toBe(scopeOf(operation, Profile.parse({})));
});

test('every write takes write or publish', () => {
  expect([...accessesOf('write'), ...accessesOf('publish')].toSorted()).toEqual(OPERATIONS.toSorted());
  expect(accessesOf('read')).toEqual(['product.list', 'material.list', 'publication.list', 'read']);
  for (const scope of SCOPES) for (const access of accessesOf(scope)) expect(scopeOfAccess(access)).toBe(scope);
});
