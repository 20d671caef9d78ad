import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/sdk/index.ts';
import { LONG_COMMENT, recordsOf } from './xml.ts';

const fieldsOf = async (text: string, options: Parameters<typeof recordsOf>[1]): Promise<JsonObject[]> =>
  (await recordsOf(text, options)).map((record) => record.fields);

describe('the values of XML records', () => {
  it('the values of XML records are text, and lists where a name occurs again', async () => {
    const text = '<a><r><n>007</n><x>1</x><x>2</x><e/><t>true</t></r></a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([{ n: '007', x: ['1', '2'], e: '', t: 'true' }]);
  });

  it('the values of XML records have attributes with @ and the text beside them as #text', async () => {
    const text = '<a><r id="1"><w unit="KG">2.50</w><v unit="KG"/></r></a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([
      { '@id': '1', w: { '@unit': 'KG', '#text': '2.50' }, v: { '@unit': 'KG', '#text': '' } },
    ]);
  });

  it('the values of XML records join text, entities, CDATA and character references, without comments and instructions', async () => {
    const text = '<a><r><t>1 &lt; <!-- no -->2<?no no?><![CDATA[ & <3>]]> &#x20AC;&#233;</t></r></a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([{ t: '1 < 2 & <3> €é' }]);
  });

  it('the values of XML records keep white space in text, drop it between elements, and trim it when told to', async () => {
    const text = '<a>\n <r>\n  <t> x </t>\n  <s> </s>\n </r>\n</a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([{ t: ' x ', s: ' ' }]);
    expect(await fieldsOf(text, { at: '/a/r', trim: true })).toEqual([{ t: 'x', s: '' }]);
  });

  it('the values of XML records have text between elements as #text', async () => {
    expect(await fieldsOf('<a><r>one <b>two</b> three</r></a>', { at: '//r' })).toEqual([
      { b: 'two', '#text': 'one  three' },
    ]);
  });

  it('the values of XML records are always lists or always objects where the config says so', async () => {
    const text = '<a><r><x>1</x><w>2</w></r><r><x>1</x><x>2</x><w u="KG">2</w></r></a>';
    expect(await fieldsOf(text, { at: '/a/r', lists: ['x'], objects: ['w'] })).toEqual([
      { x: ['1'], w: { '#text': '2' } },
      { x: ['1', '2'], w: { '@u': 'KG', '#text': '2' } },
    ]);
  });

  it('the values of XML records are null for xsi:nil', async () => {
    const text = '<a xmlns:xsi="i"><r><x xsi:nil="true"/><y xsi:nil="false"/></r></a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([{ x: null, y: '' }]);
  });

  it('the values of XML records have the names of inherited members like any other name', async () => {
    const text = '<a><r><constructor>1</constructor><__proto__>2</__proto__><toString a="3"/></r></a>';
    const [fields] = await fieldsOf(text, { at: '/a/r' });
    expect(JSON.stringify(fields)).toBe('{"constructor":"1","__proto__":"2","toString":{"@a":"3","#text":""}}');
  });

  it('the values of XML records lose their prefixes, or keep them, and never have declarations of namespaces', async () => {
    const text = '<g:a xmlns:g="urn:g" xmlns="urn:d"><g:r g:no="1"><x xml:lang="de">1</x></g:r></g:a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([{ '@no': '1', x: { '@lang': 'de', '#text': '1' } }]);
    expect(await fieldsOf(text, { at: '/g:a/g:r', prefixes: 'keep' })).toEqual([
      { '@g:no': '1', x: { '@xml:lang': 'de', '#text': '1' } },
    ]);
  });

  it('the values of XML records keep a prefix where an attribute would take the place of another one', async () => {
    const text = '<a><r id="1" g:id="2"/></a>';
    expect(await fieldsOf(text, { at: '/a/r' })).toEqual([{ '@id': '1', '@g:id': '2', '#text': '' }]);
  });

  it('the values of XML records survive any tree of elements, in whatever pieces the file is read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(element(), { maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        async (records, piece) => {
          const text = `<?xml version="1.0"?>\n<all>${LONG_COMMENT}${records.map((fields) => written('r', fields)).join('\n')}</all>`;
          const read = await recordsOf(text, { at: '/all/r', lists: ['r', 'a', 'b', 'c'] }, piece);
          expect(read.map((record) => record.fields)).toEqual(records);
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** The fields of an element: texts and lists of elements, as the reader gives them when all elements are lists. */
function element(): fc.Arbitrary<JsonObject> {
  const text = fc.string({ unit: fc.constantFrom('a', '<', '&', '"', ' x', 'é', '€', '😀', ']]>', 'z'), minLength: 1 });
  const above = (inner: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> =>
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.array(inner, { minLength: 1, maxLength: 3 }), {
      minKeys: 1,
      noNullPrototype: true,
    });
  return above(fc.oneof(text, above(fc.oneof(text, above(text)))));
}

function written(name: string, value: JsonValue): string {
  if (typeof value === 'string') {
    const escaped = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&#62;');
    return `<${name}>${escaped}</${name}>`;
  }
  const members = Object.entries(value as Record<string, JsonValue[]>);
  return `<${name}>\n ${members.map(([member, values]) => values.map((one) => written(member, one)).join('')).join('')}</${name}>`;
}

describe('the languages of XML records', () => {
  const text =
    '<a><r><n xml:lang="en">fan</n><n xml:lang="de-AT">Lüfter</n><n>?</n><k lang="de">1</k><k lang="de">2</k><o lang="fr">x</o></r></a>';

  it('the languages of XML records are chosen in the order of the config, and all are given', async () => {
    expect(await fieldsOf(text, { at: '/a/r', language: ['de'] })).toEqual([
      {
        n: 'Lüfter',
        'n@lang': { en: 'fan', 'de-AT': 'Lüfter', und: '?' },
        k: ['1', '2'],
        'k@lang': { de: ['1', '2'] },
        o: 'x',
        'o@lang': { fr: 'x' },
      },
    ]);
    const [fields] = await fieldsOf(text, { at: '/a/r', language: ['it', 'en'] });
    expect(fields).toMatchObject({ n: 'fan', k: ['1', '2'], o: 'x' });
  });

  it('the languages of XML records fall back to the text without a language', async () => {
    expect(await fieldsOf(text, { at: '/a/r', language: ['it'] })).toMatchObject([{ n: '?' }]);
  });

  it('the languages of XML records stay as they are where no language is asked for', async () => {
    const [fields] = await fieldsOf(text, { at: '/a/r' });
    expect(fields?.['n']).toEqual([{ '@lang': 'en', '#text': 'fan' }, { '@lang': 'de-AT', '#text': 'Lüfter' }, '?']);
  });
});

describe('the paths of XML records', () => {
  const text = '<a><b><c>1</c></b><bb><c>2</c></bb><d><b><c>3</c></b></d></a>';

  it.each([
    ['/a/b/c', ['1']],
    ['//c', ['1', '2', '3']],
    ['/a/*/c', ['1', '2']],
    ['/a/b*/c', ['1', '2']],
    ['/a//b/c', ['1', '3']],
    ['/a/b/c | /a/d/b/c', ['1', '3']],
    ['/a/bb', [undefined]],
  ])('the path %s of XML records names its elements', async (at, texts) => {
    expect((await fieldsOf(text, { at })).map((fields) => fields['#text'])).toEqual(texts);
  });

  it('the paths of XML records give a record within a record first', async () => {
    const nested = '<a><p><n>1</n><p><n>2</n></p></p><p><n>3</n></p></a>';
    const records = await recordsOf(nested, { at: '//p', parent: { in: '../n' } });
    expect(records.map(({ fields }) => [fields['n'], fields['in']])).toEqual([
      ['2', '1'],
      ['1', undefined],
      ['3', undefined],
    ]);
    expect(records[1]?.fields['p']).toEqual({ n: '2' });
  });

  it('the paths of XML records place each record at its first line', async () => {
    const lines = '<a>\n<b>\n</b>\r\n<b\n  x="1"\n>\n</b><b/>\n</a>';
    const records = await recordsOf(lines, { at: '/a/b' });
    expect(records.map((record) => record.place)).toEqual(
      [2, 4, 7].map((line) => ({ file: 'export.xml', line, path: '/a/b' })),
    );
  });

  it('have a place of their own where several of them begin on one line', async () => {
    const records = await recordsOf('<a><b/><b><b/></b><c><b x="1"/></c>\n<b/><b/><b\n/></a>', { at: '//b' });
    expect(records.map(({ place }) => `${place.line} ${place.path}`)).toEqual([
      '1 /a/b',
      '1 /a/b/b[column 11]',
      '1 /a/b[column 8]',
      '1 /a/c/b[column 22]',
      '2 /a/b',
      '2 /a/b[column 5]',
      '2 /a/b[end of line]',
    ]);
  });
});

describe('the values of ancestors', () => {
  it('the values of ancestors of an XML record are those that stand before it, of the element around it', async () => {
    const text =
      '<c v="9"><h><id>H</id></h><p no="1"><id>A</id><l>x</l></p><p no="2"><l>y</l><id>late</id></p><p no="3"><id>C</id><l>z</l></p></c>';
    const parent = { id: '../id', no: '../@no', header: '/c/h/id', version: '/c/@v' };
    expect(await fieldsOf(text, { at: '//l', parent })).toEqual([
      { version: '9', header: 'H', no: '1', id: 'A', '#text': 'x' },
      { version: '9', header: 'H', no: '2', '#text': 'y' },
      { version: '9', header: 'H', no: '3', id: 'C', '#text': 'z' },
    ]);
  });

  it('the values of ancestors never take the place of an element of the record', async () => {
    const [record] = await recordsOf('<a n="1"><r><no>x</no></r></a>', { at: '/a/r', parent: { no: '../@n' } });
    expect(record?.fields).toEqual({ no: 'x' });
    expect(record?.issues).toMatchObject([{ code: 'row.duplicate', field: 'no' }]);
  });
});
