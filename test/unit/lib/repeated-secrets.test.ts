// Secrets in the forms in which servers repeat them.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSecretIn, withoutSecrets } from '../../../src/lib/text/repeated-secrets.ts';

const json = (text: string) => JSON.stringify(text).slice(1, -1);
const FORMS: ((text: string) => string)[] = [
  (text) => text,
  json,
  (text) => json(json(text)),
  (text) => json(text).replaceAll('/', '\\/'),
  (text) =>
    json(text).replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  encodeURIComponent,
  (text) => encodeURIComponent(encodeURIComponent(text)),
  (text) => String(new URLSearchParams({ '': text })).slice(1),
];

const secrets = fc
  .string({ unit: fc.constantFrom(...Array.from('abnu/"\\%+ &=41cü€😀\n\t')), minLength: 6, maxLength: 12 })
  // Bytes of an address that are no text have no other form.
  .filter((secret) => !/%[\da-f]{2}/.test(secret))
  .filter((secret) => /[a-c]/.test(secret) && secret.trim() === secret);

it('a secret in any form is removed, and the text around it stays', () => {
  fc.assert(
    fc.property(secrets, fc.constantFrom(...FORMS), (secret, form) => {
      const text = withoutSecrets(`before (${form(secret)}) after`, [secret]);
      // Backslashes at its ends are no part of what is compared.
      expect(text).toMatch(/^before \((\\|%(25)?5C)*…(\\|%(25)?5C)*\) after$/);
    }),
    { numRuns: 2_000 },
  );
});

it.each([
  ['of a text without secrets', 'a\\u0041 %41 "\\/"', ['secret-1'], 'a\\u0041 %41 "\\/"'],
  ['of two that overlap', 'x abcdefgh y', ['abcdef', 'defgh'], 'x … y'],
  ['of one behind a backslash', 'C:\\north-7', ['north-7'], 'C:\\…'],
  ['of one behind a percent sign', '100%abcdef', ['abcdef'], '100%…'],
  ['of one with a backslash at its end', '{"a":"token-1\\\\"}', ['token-1\\'], '{"a":"…\\"}'],
  ['in Latin-1', 'k=J%FCrgen%2F1', ['Jürgen/1'], 'k=…'],
  ['in another case', 'TOKEN-A', ['token-a'], '…'],
])('the rest stays %s', (_, text, own, clean) => {
  expect(withoutSecrets(text, own)).toBe(clean);
  expect(isSecretIn(text, own)).toBe(clean !== text);
});
