import { describe, expect, it } from 'vitest';
import { allRecords, madeFile, recordsOf } from './xml.ts';

const AT = { at: '/a/r' };
const withDtd = (subset: string, body: string) => `<!DOCTYPE a [${subset}]><a><r><t>${body}</t></r></a>`;
const textOf = async (subset: string, body: string) => (await recordsOf(withDtd(subset, body), AT))[0]?.fields['t'];

describe('entities of an XML document', () => {
  it.each([
    ['stand for their text', '<!ENTITY x "Müller">', '&x; &amp; &x;', 'Müller & Müller'],
    ['stand for entities in them', '<!ENTITY x "1&y;3"><!ENTITY y \'2\'>', '&x;', '123'],
    ['keep their first declaration', '<!ENTITY x "1"><!ENTITY x "2">', '&x;', '1'],
    ['may hide what would be markup', '<!ENTITY x "&#38;#60;b&#62;">', '&x;', '<b>'],
    [
      'are found among other declarations',
      '<!-- <!ENTITY x "0"> --><!ELEMENT a (#PCDATA)><!ATTLIST a b CDATA "]>"><?p <!ENTITY x "0">?><!ENTITY x "1">',
      '&x;',
      '1',
    ],
    ['of parameters are left alone', '<!ENTITY % p "(#PCDATA)"><!ELEMENT a %p;>%p;<!ENTITY x "1">', '&x;', '1'],
  ])('entities of an XML document %s', async (_about, subset, body, text) => {
    expect(await textOf(subset, body)).toBe(text);
  });

  it('entities of an XML document stand in attributes too', async () => {
    const [record] = await recordsOf('<!DOCTYPE a [<!ENTITY x "1">]><a><r n="&x;2"/></a>', AT);
    expect(record?.fields['@n']).toBe('12');
  });

  it('entities of an XML document may be declared by the config', async () => {
    const [record] = await recordsOf('<a><r><t>&auml;&b;</t></r></a>', { ...AT, entities: { auml: 'ä', b: '<&' } });
    expect(record?.fields['t']).toBe('ä<&');
  });

  it.each([
    ['not declared', '', '&nbsp;', 'export.xml, line 1, column 31: The entity &nbsp; is not declared in the file.'],
    [
      'external',
      '<!ENTITY x SYSTEM "file:///etc/passwd">',
      '&x;',
      'The entity &x; stands for another file ("file:///etc/passwd"), which is never read.',
    ],
    ['external and public', '<!ENTITY x PUBLIC "-//X" "http://192.0.2.1/">', '&x;', 'which is never read'],
    ['circular', '<!ENTITY x "&y;"><!ENTITY y "&x;">', '&x;', 'The entity &x; refers to itself.'],
    ['made of elements', '<!ENTITY x "<b>1</b>">', '&x;', 'has elements in it, and only text is supported'],
    ['declared wrongly', 'junk', '&x;', 'has a declaration that cannot be read'],
    ['inherited', '', '&constructor;', 'The entity &constructor; is not declared'],
  ])('entities are an error where they are %s', async (_about, subset, body, message) => {
    await expect(textOf(subset, body)).rejects.toThrow(message);
  });

  it('entities that an external DTD may declare are said to be so, and the DTD alone is no error', async () => {
    const document = (text: string) => `<!DOCTYPE a SYSTEM "http://192.0.2.1/a.dtd"><a><r>${text}</r></a>`;
    expect(await recordsOf(document('1'), AT)).toHaveLength(1);
    await expect(recordsOf(document('&x;'), AT)).rejects.toThrow(
      'It may be declared in "http://192.0.2.1/a.dtd", which is never read.',
    );
  });

  it('entities of an XML document end with an error before they become gigabytes', async () => {
    const levels = Array.from({ length: 12 }, (_, level) => `<!ENTITY l${level + 1} "${`&l${level};`.repeat(10)}">`);
    const laughs = `<!ENTITY l0 "lol">${levels.join('')}`;
    await expect(textOf(laughs, '&l12;')).rejects.toThrow('stands for more than 65536 characters');
    const deep = Array.from({ length: 30 }, (_, level) => `<!ENTITY d${level + 1} "&d${level};">`).join('');
    await expect(textOf(`<!ENTITY d0 "x">${deep}`, '&d30;')).rejects.toThrow('more than 16 levels deep');
    const many = Array.from({ length: 5_001 }, (_, index) => `<!ENTITY e${index} "x">`).join('');
    await expect(textOf(many, '')).rejects.toThrow('declares more than 5000 entities');
    await expect(textOf(`<!--${'x'.repeat(1_100_000)}-->`, '')).rejects.toThrow('longer than 1048576 characters');
  });

  it('entities of an XML document may not stand for far more text than was read, in one text or in many', async () => {
    const dtd = `<!DOCTYPE a [<!ENTITY x "${'x'.repeat(60_000)}">]><a>`;
    const inOne = madeFile([dtd, '<r>', ...Array<string>(1_000).fill('&x;&x;&x;')]);
    await expect(allRecords(inOne, AT)).rejects.toThrow('The entities stand for more than 100 times the text');
    const inMany = madeFile([dtd, ...Array<string>(1_000).fill('<r>&x;</r>')]);
    await expect(allRecords(inMany, AT)).rejects.toThrow('The entities stand for more than 100 times the text');
  });

  it('entities of an XML document count for the length of a record', async () => {
    const document = `<!DOCTYPE a [<!ENTITY x "${'x'.repeat(600)}">]><a><r><n>1</n><t>&x;&x;</t></r><r><n>2</n></r></a>`;
    const records = await recordsOf(document, { ...AT, maxRecordBytes: 1_000 });
    expect(records.map((record) => record.issues?.[0]?.code)).toEqual(['row.length', undefined]);
  });
});

describe('a & that is text', () => {
  const lines = (middle: string, end = '</a>') => `<a>\n<r><t>AT&T Pump</t></r>\n${middle}\n<r/>\n${end}`;
  const cure = 'In XML, write `&amp;` for a & that is text. Correct this in the program that writes the export.';

  it.each([
    ['a reference follows', lines('<r><t>x &amp; y</t></r>'), 2, '&T Pump'],
    ['no reference follows', lines('<r><t>z</t></r>'), 2, '&T Pump'],
    ['the file is cut off', lines('', '<r'), 2, '&T Pump'],
    ['the file has the line ends of Windows', lines('<r>;</r>').replaceAll('\n', '\r\n'), 2, '&T Pump'],
    ['it is in an attribute', '<a>\n\n<r t="R & D"/>\n<r>;</r></a>', 3, '& D\\"/>'],
    ['it ends its text', '<a><r>Dun &</r>\n</a>', 1, '&'],
    ['two of them follow each other', '<a><r>x &&amp; y</r>\n</a>', 1, '&'],
    ['it is outside the records', '<a>\n<b>A & B</b>\n<r>1</r></a>', 2, '& B'],
    ['much text follows', `<a>\n<r>A & B</r>${`\n<r>${'x'.repeat(60_000)}</r>`.repeat(300)}</a>`, 2, '& B'],
  ])('is reported at its line if %s', async (_about, text, line, shown) => {
    await expect(recordsOf(text, AT, 70)).rejects.toMatchObject({
      message: `export.xml, line ${line}: The & in "${shown}" is no reference of XML.`,
      suggestion: cure,
    });
  });

  it.each([
    ['&;', 'empty entity name.'],
    ['&#5 pieces;', 'malformed character entity.'],
  ])('has its cure where the parser reports it: %s', async (text, why) => {
    await expect(recordsOf(`<a><r>${text}</r></a>`, AT)).rejects.toMatchObject({
      message: expect.stringContaining(why) as unknown,
      suggestion: cure,
    });
  });

  it('a < that is text has its cure too, and a file that is cut off is said to be so', async () => {
    await expect(recordsOf('<a><r>3 < 4</r></a>', AT)).rejects.toMatchObject({
      suggestion: 'In XML, write `&lt;` for a < that is text. Correct this in the program that writes the export.',
    });
    for (const text of ['<a><r>1</', '<a><r b', '<a><r>1<![CDATA[&', '<a><r>AT&amp;T']) {
      await expect(recordsOf(text, AT)).rejects.toThrow('The file ends before it is complete');
    }
  });
});

describe('default attributes of a document type', () => {
  const recordOf = async (subset: string, element = '<r/>') => {
    const [record] = await recordsOf(`<!DOCTYPE a [${subset}]><a>${element}</a>`, AT);
    const { '#text': _text, ...attributes } = record?.fields ?? {};
    return attributes;
  };

  it.each([
    ['of text', '<!ATTLIST r mode CDATA "new">', { '@mode': 'new' }],
    ['out of a list of words', "<!ATTLIST r mode (new|old)\n'old' unit NMTOKEN #IMPLIED>", { '@mode': 'old' }],
    ['that are fixed', '<!ATTLIST r id ID #REQUIRED v CDATA #FIXED "1">', { '@v': '1' }],
    [
      'in several lists, of which the first counts',
      '<!ATTLIST r a CDATA "1"><!ATTLIST r a CDATA "2" b CDATA "3">',
      { '@a': '1', '@b': '3' },
    ],
    ['with entities', '<!ENTITY x "Müller"><!ATTLIST r a CDATA "&x; &#38;amp; &lt;">', { '@a': 'Müller & <' }],
    ['of other elements, which do not count', '<!ATTLIST s a CDATA "1"><!ELEMENT r EMPTY>', {}],
  ])(
    'attributes of a document type %s are given to elements that have none of their own',
    async (_about, subset, fields) => {
      expect(await recordOf(subset)).toEqual(fields);
    },
  );

  it('default attributes of a document type give way to those of an element', async () => {
    expect(await recordOf('<!ATTLIST r mode CDATA "new">', '<r mode="old"/>')).toEqual({ '@mode': 'old' });
  });

  it('default attributes of a document type end with an error before they become gigabytes', async () => {
    const subset = `<!ATTLIST s a CDATA "${'x'.repeat(60_000)}">`;
    await expect(recordOf(subset, `<r>${'<s/>'.repeat(50_000)}</r>`)).rejects.toThrow(/longer than|more than/);
  });
});
