import { describe, expect, it } from 'vitest';
import { html, plainText } from '../../../src/web/html.ts';

describe('markup as a line of text', () => {
  it.each([
    ['1 of 2 passports is published. 1 is not:', html`<p><b>1 of 2 passports is published.</b></p><p>1 is not:</p>`],
    ['P-6: Its part waits.', html`<ul><li><a href="/items/product/P-6">P-6</a>: Its part waits</li></ul>`],
    ['P-6.', html`<ul><li><a href="/items/product/P-6">P-6</a></li></ul>`],
    ['a < b & "c".', html`<p>${'a < b & "c"'}</p>`],
    ['Done.', html`<p>Done.</p> <p> <a href="/passports">Passports</a> </p>`],
  ])('a line of text from markup is: %s', (text, markup) => {
    expect(plainText(markup)).toBe(text);
  });
});
