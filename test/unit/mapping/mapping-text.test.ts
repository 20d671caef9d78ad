import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEntities, htmlText } from '../../../src/pipeline/mapping/functions/text.ts';
import { issueOf, problemOf, valueOf } from '../../support/connectors/map-row.ts';
import { cpuMs } from '../support/cpu-time.ts';

describe('html_text', () => {
  it.each([
    ['<p>Ein <b>Stuhl</b></p>', 'Ein Stuhl'],
    ['<ul><li>one</li><li>two &amp; three</li></ul>', 'one\ntwo & three'],
    ['a<br>b<br/>c', 'a\nb\nc'],
    ['Gr&ouml;&szlig;e &#228; &#x20AC; &nbsp; x', 'Größe ä € x'],
    ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
    ['<a title="a > b">link</a>', 'link'],
    ['x<!-- <p>no</p> -->y<style>p { color: red }</style><script>if (a < b) {}</script>z', 'xyz'],
    ['plain text', 'plain text'],
    ['a\n  b', 'a b'],
    ['<p></p>', null],
    ['cut <p', 'cut <p'],
  ])('html_text() reads %j as %j', (html, text) => {
    expect(htmlText(html)).toBe(text);
  });

  it('html_text() leaves no tag of a document, and ends soon, whatever the document has', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<b a="x">',
      '<',
      '>',
      '"',
      '&amp;',
      '&',
      'text',
      '<!--',
      '-->',
      '<script>',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(htmlText(pieces.join('')) ?? '').not.toMatch(/<\/?(?:p|b|script)\b[^<]*>/);
      }),
    );
    const began = cpuMs();
    for (const hostile of ['<', '<!--', '<script>', '<a "', '&lt']) htmlText(hostile.repeat(50_000));
    expect(cpuMs() - began).toBeLessThan(5000);
  });

  it('html_text() keeps tags where only entities are decoded', () => {
    expect(decodeEntities('&lt;b&gt; &amp;amp; <i>')).toBe('<b> &amp; <i>');
  });
});

describe('expressions over lists and packed texts', () => {
  it.each([
    ['pairs(row.x, ",", "=").size', { x: 'colour=red, size = XL' }, 'XL'],
    ['"colour" in pairs(row.x, ",", "=") ? "yes" : "no"', { x: '' }, 'no'],
    ['split(row.x, ";")', { x: ' a ;b;; ' }, ['a', 'b']],
    ['split(row.x, ";")', { x: null }, undefined],
    ['first(split(row.x, ";"))', { x: 'a;b' }, 'a'],
    ['first(row.x)', { x: [] }, undefined],
    ['first(row.x)', { x: 'one' }, 'one'],
    ['as_list(row.x).map(v, v + "!")', { x: 'one' }, ['one!']],
    ['"a b" in row ? row["a b"] : "none"', { 'a b': 'there' }, 'there'],
    ['"urn:samm:x" in row ? "yes" : "none"', {}, 'none'],
    ['html_text(row.x)', { x: '<p>Text</p>' }, 'Text'],
    ['printable(row.x)', { x: 'a\u0000\tb\n\u0080\ud800\ufffe😀' }, 'a\tb\n😀'],
    ['printable(row.x)', { x: '\u0000 ' }, undefined],
    ['printable(row.x)', { x: 5 }, '5'],
  ])('the list expression %s over %j gives %j', async (expression, fields, expected) => {
    expect(await valueOf(expression, fields)).toEqual(expected);
  });

  it.each([
    ['pairs(row.x, ",", "=")', { x: 'colour' }, 'pairs.format'],
    ['pairs(row.x, ",", "=")', { x: 'a=1,a=2' }, 'pairs.twice'],
    ['split(row.x, "")', { x: 'a' }, 'split.separator'],
    ['split(row.x, ";")', { x: [1] }, 'split.type'],
  ])('the list expression %s over %j is an issue: %s', async (expression, fields, code) => {
    expect(await issueOf(expression, fields)).toMatchObject({ code });
  });
});

describe('messages about what is not there', () => {
  it.each([
    [
      'row.x[0]',
      { x: [] },
      'row.x is empty, so there is no entry 0; the first one has the number 0.',
      'first(row.x) is null if the list is empty.',
    ],
    [
      'row.x[2]',
      { x: [1, 2] },
      'row.x has 2 entries, so there is no entry 2; the first one has the number 0.',
      'size(row.x) > 2 ? row.x[2] : null',
    ],
    ['row.x[0]', { x: 'text' }, 'row.x is text, so it has no member "0".', 'row.x.substring(0, 1)'],
    ['row.x.y', { x: null }, 'row.x is null, so it has no member "y".', 'has(row.x.y) ? row.x.y : null'],
    ['row.x.nmae', { x: { name: 1 } }, 'row.x has no member "nmae"; it has name.', 'Did you mean "name"?'],
    [
      'row["urn:samm:x"]',
      { a: 1 },
      'The column "urn:samm:x" does not exist',
      '"urn:samm:x" in row ? row["urn:samm:x"] : null',
    ],
    ['row.a["b c"]', { a: { d: 1 } }, 'row.a has no member "b c"', '"b c" in row.a ? row.a["b c"] : null'],
    ['row.x.map(v, v)', { x: null }, 'A loop needs a list or an object, but this is null.', 'as_list'],
    ['row.x.substring(0, 9)', { x: 'short' }, 'The text is shorter than', 'size(row.X)'],
    ['1 / 0', {}, 'A number is divided by zero.', 'Check for zero'],
  ])('a missing value in %s over %j is reported: %s', async (expression, fields, message, cure) => {
    const issue = await issueOf(expression, fields);
    expect(issue.message).toContain(message);
    expect(issue.cure).toContain(cure);
  });

  it.each(['urn:samm:x', 'a b', 'in', 'Größe', 'x"y', "it's", '1st', 'plain'])(
    'messages about a missing column named %j have cures that compile',
    async (name) => {
      const { cure = '' } = await issueOf(`row[${JSON.stringify(name)}]`, { other: 1 });
      const expression = /check first: (.*)\.$/.exec(cure)?.[1] ?? '';
      expect(await valueOf(expression, { other: 1 })).toBeUndefined();
      expect(await valueOf(expression, { [name]: 'there' })).toBe('there');
    },
  );

  it('a lookup table that is not declared is named in the message', async () => {
    expect((await problemOf('lookup("prices", row.x)')).message).toContain('There is no lookup table "prices".');
  });
});
