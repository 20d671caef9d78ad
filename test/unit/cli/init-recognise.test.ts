import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { recogniseCsv } from '../../../src/cli/init/recognise-csv.ts';
import { recogniseEncoding } from '../../../src/cli/init/recognise-encoding.ts';
import { type FileHead, recogniseFormat, recogniseXml } from '../../../src/cli/init/recognise-format.ts';
import { recogniseJson } from '../../../src/cli/init/recognise-json.ts';
import { recogniseHeader } from '../../../src/cli/init/recognise-sheet.ts';

const GERMAN = 'Artikel;Bezeichnung\n1;Lüfter groß, grün\n2;Gehäuse für Größe 3\n';

const head = (content: string | Buffer, name = '/data/export.txt'): FileHead => ({
  path: name,
  name,
  bytes: Buffer.isBuffer(content) ? content : Buffer.from(content),
  isWhole: true,
  isArchive: false,
});

describe('the encoding of a text', () => {
  it.each<[string, Buffer, string]>([
    ['ASCII', Buffer.from('a;b\n1;2\n'), 'utf-8'],
    ['UTF-8', Buffer.from(GERMAN), 'utf-8'],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${GERMAN}`), 'utf-8'],
    ['UTF-8 that is cut off within a character', Buffer.from(GERMAN).subarray(0, 24), 'utf-8'],
    ['windows-1252', iconv.encode(GERMAN, 'windows-1252'), 'windows-1252'],
    ['code page 850', iconv.encode(GERMAN, 'cp850'), 'cp850'],
    ['UTF-16 with a byte order mark', Buffer.from(`\ufeff${GERMAN}`, 'utf16le'), 'utf-16le'],
    ['UTF-16 without one', Buffer.from(GERMAN, 'utf16le'), 'utf-16le'],
    ['UTF-16 in the other order', Buffer.from(`\ufeff${GERMAN}`, 'utf16le').swap16(), 'utf-16be'],
  ])('the encoding of a text is recognised: %s', (_about, bytes, name) => {
    const found = recogniseEncoding(bytes);
    expect(found?.name).toBe(name);
    expect(GERMAN.startsWith(found?.text ?? '?') || found?.text === 'a;b\n1;2\n' || found?.text === GERMAN).toBe(true);
  });

  it('the encoding of a text is UTF-8 if only a few of its characters are broken, and the reason says so', () => {
    const bytes = Buffer.concat([Buffer.from(GERMAN), Buffer.from([0x33, 0x3b, 0xe4, 0x0a])]);
    expect(recogniseEncoding(bytes)).toMatchObject({ name: 'utf-8', reason: expect.stringContaining('1 broken') });
  });

  it('the encoding of a text is UTF-8 if an earlier conversion has damaged it, and the reason says so', () => {
    for (const [name, damaged] of [
      ['a few of many', 'Lüfter groß; Gr\ufffdn\n'],
      ['all of them', 'sku;name\nA1;Gr\ufffdn\nA2;B\ufffdck\n'],
    ]) {
      const found = recogniseEncoding(Buffer.from(damaged ?? ''));
      expect({ name, found }).toMatchObject({
        name,
        found: {
          name: 'utf-8',
          isGuess: false,
          reason: expect.stringMatching(/valid UTF-8; .* has damaged .*U\+FFFD/),
        },
      });
    }
  });

  it('the encoding of a text has words as evidence where it cannot be known for certain', () => {
    expect(recogniseEncoding(iconv.encode(GERMAN, 'windows-1252'))?.reason).toContain('Lüfter, groß, grün');
  });

  const POLISH = 'Materiał;Lampa stołowa „Żuraw”;Księżyc;Mosiądz';
  const CZECH = 'Židle dřevěná;stůl kulatý;čtyři kusy';
  it.each<[string, string, string]>([
    ['Polish', 'windows-1250', POLISH],
    ['Polish', 'iso-8859-2', POLISH.replaceAll(/[„”]/g, '')],
    ['Polish', 'cp852', POLISH.replaceAll(/[„”]/g, '')],
    ['Polish, one word', 'windows-1250', 'Materiał'],
    ['Czech', 'windows-1250', CZECH],
    ['Czech', 'iso-8859-2', CZECH],
    ['Hungarian', 'windows-1250', 'Szék, bőr huzat;fűtőtest;asztal;működő'],
    ['Romanian', 'windows-1250', 'Masă rotundă;înălţime;Bucureşti'],
    ['Croatian', 'windows-1250', 'Ormarić;žarulja;čaša'],
    ['Lithuanian', 'windows-1257', 'Kėdė;ąžuolo stalas;gėlių vaza;įrankis'],
    ['Latvian', 'windows-1257', 'Krēsls;ķēde;šķīvis;galds apaļš'],
    ['Turkish', 'windows-1254', 'Ahşap sandalye;ışık;dağ;gümüş'],
    ['French', 'windows-1252', 'Crème brûlée;hêtre;façade;l’été;Noël;bœuf'],
    ['Spanish', 'windows-1252', 'Niño;sillón;pingüino;¿qué?;Nº 5'],
    ['Portuguese', 'windows-1252', 'coração;ligações;à mão;péssego'],
    ['Italian', 'windows-1252', 'Caffè;città;perché;più'],
    ['Italian of DOS', 'cp850', 'Caffè;città;perché;più'],
    ['Danish', 'windows-1252', 'Bøg;træ;stål'],
    ['German with units', 'windows-1252', 'Lüfter groß;Ø 30 mm;20 °C;5 m³;¼ Zoll'],
  ])('the encoding of a text in %s is %s', (_language, name, text) => {
    expect(recogniseEncoding(iconv.encode(text, name))).toMatchObject({ name, text });
  });

  it('the encoding of a text is a guess where another would do as well, and the reason says what to do', () => {
    expect(recogniseEncoding(iconv.encode(POLISH, 'windows-1250'))).toMatchObject({
      isGuess: false,
      reason: expect.stringMatching(/it gives Materiał, stołowa, .*; if words look wrong, write another encoding/),
    });
    const unclear = recogniseEncoding(iconv.encode('5 m³;20 °C', 'windows-1252'));
    expect(unclear).toMatchObject({ name: 'windows-1252', isGuess: true });
    expect(unclear?.reason).toContain('for example windows-1250 (Polish, Czech, Hungarian)');
    expect(recogniseFormat(head(iconv.encode('a;b\n1;5 m³\n', 'windows-1252'))).options).toContainEqual(
      expect.objectContaining({ name: 'encoding', isTodo: true }),
    );
  });

  it('the encoding of bytes that are no text is none', () => {
    expect(recogniseEncoding(Buffer.from(Array.from({ length: 1_000 }, (_, at) => at % 256)))).toBeNull();
    expect(recogniseEncoding(Buffer.alloc(500))).toBeNull();
  });
});

describe('the dialect of a delimited text', () => {
  const optionsOf = (text: string) => recogniseCsv(text, true)?.options;

  it.each<[string, string, object]>([
    ['a semicolon beside decimal commas', 'sku;price\nA;1,5\nB;2,5\nC;3,5\n', { delimiter: ';' }],
    ['a comma', 'sku,name\nA,Pump\nB,Motor\n', { delimiter: ',' }],
    ['a tab', 'sku\tname\nA\tPump, big\nB\tMotor, small\n', { delimiter: '\t' }],
    ['delimiters in quotes', 'sku;name\nA;"Pump; big"\nB;"a ""b"""\n', { delimiter: ';' }],
    ['a quote that is not closed', 'sku;name\nA;"Pump"\nB;"Seal\nC;"Motor"\nD;Gear\n', { delimiter: ';' }],
    ['a single quote that is not closed', 'sku;name\nA;Pump\nB;"Seal\nC;Motor\nD;Gear\n', { delimiter: ';' }],
    ['inch signs, and no quotes', 'sku;name\nA;3/4" pipe\nB;1" pipe\n', { delimiter: ';', quote: null }],
    ['a line for Excel above the header', 'sep=;\r\nsku;name\r\nA;x\r\nB;y\r\n', { delimiter: ';' }],
    [
      'a line for Excel and a title above the header',
      'sep=,\nExport\nsku,name\nA,x\nB,y\nC,z\n',
      { delimiter: ',', skipLines: 2 },
    ],
    [
      'a header that is one cell shorter than rows that end with a delimiter',
      'id;name;note\n1;Pump;a;\n2;Seal;b;\n',
      { delimiter: ';' },
    ],
    ['a header that is one cell longer, with an empty name', 'id;name;note;\n1;Pump;a\n2;Seal;b\n', { delimiter: ';' }],
    [
      'a title, and a header that is one cell shorter',
      'Export\nid;name;note\n1;Pump;a;\n2;Seal;b;\n3;Motor;c;\n',
      { delimiter: ';', skipLines: 1 },
    ],
    [
      'a header that lacks a name',
      'id;name\n1;Pump;a\n2;Seal;b\n',
      { delimiter: ';', header: false, columns: ['id', 'name', 'column3'], skipLines: 1 },
    ],
    [
      'a header that has a name more',
      'id;name;note;extra\n1;Pump;a\n2;Seal;b\n',
      { delimiter: ';', header: false, columns: ['id', 'name', 'note'], skipLines: 1 },
    ],
    ['titles above the header', 'Export of 1 May\n\nsku;name\nA;x\nB;y\nC;z\n', { delimiter: ';', skipLines: 2 }],
    [
      'a text that begins with an incomplete row',
      '1;Pump;;\n2;Motor;b;c\n3;Seal;d;e\n',
      { delimiter: ';', header: false },
    ],
    [
      'codes that begin with an incomplete row',
      'A-1;Pump;;\nA-2;Motor;steel;red\nA-3;Seal;rubber;black\n',
      { delimiter: ';', header: false },
    ],
    [
      'words that begin with an incomplete row',
      'pump;;;\nmotor;steel;red;DE\nseal;rubber;black;SE\nfan;iron;white;DE\n',
      { delimiter: ';', header: false },
    ],
    ['no header', '1;Pump\n2;Motor\n', { delimiter: ';', header: false }],
    [
      'names that are there twice',
      'sku;name;name\nA;x;y\nB;x;z\n',
      { delimiter: ';', columns: ['sku', 'name', 'name_2'] },
    ],
    ["SQL Server's signs", '1+|a&|\n2+|b\nc&|\n3+|d&|\n', { delimiter: '+|', header: false, recordDelimiter: '&|\n' }],
    ['a text that is cut off', 'sku;name\nA;x\nB;y\nC', { delimiter: ';' }],
  ])('the dialect of a delimited text is recognised: %s', (about, text, options) => {
    expect(recogniseCsv(text, !about.includes('cut off'))?.options).toEqual(options);
  });

  const TITLE = 'Artikelstamm Tischlerei Wald GmbH, Stand 15.03.2025';
  const rowsOf = (header: string) => `${header}\n${[1, 2, 3].map((at) => `M-${at};Tisch ${at};;DE;\n`).join('')}`;
  const NAMED = rowsOf('Artikelnummer;Bezeichnung;Gewicht;Land;GTIN');

  it.each<[string, string[], number]>([
    ['without padding', [TITLE], 1],
    ['padded', [`${TITLE};;;;`], 1],
    ['with a date in another cell', ['Artikelstamm;;;Stand 15.03.2025;'], 1],
    ['with a bare date in another cell', ['Artikelstamm;;;;15.03.2025'], 1],
    ['and an empty line', [`${TITLE};;;;`, ''], 2],
    ['and an empty padded line', [`${TITLE};;;;`, ';;;;'], 2],
    ['without padding, and an empty padded line', [TITLE, ';;;;'], 2],
    ['of two lines', [`${TITLE};;;;`, 'Preisliste;;;;'], 2],
    ['of two lines, of which one is padded', [`${TITLE};;;;`, 'Preisliste', ';;;;'], 3],
    ['below an empty padded line', [';;;;', `${TITLE};;;;`], 2],
  ])('a title above the header of a delimited text is passed over: %s', (_about, title, skipLines) => {
    const text = (named: string) => [...title, named].join('\n');
    expect(optionsOf(text(NAMED))).toEqual({ delimiter: ';', skipLines });
    const short = rowsOf('Artikelnummer;Bezeichnung;Gewicht;Land');
    expect(optionsOf(text(short)), 'a header that is one cell shorter').toEqual({ delimiter: ';', skipLines });
    const twice = optionsOf(text(rowsOf('Artikelnummer;Name;Name;Land;GTIN')));
    expect(twice).toMatchObject({ skipLines, columns: ['Artikelnummer', 'Name', 'Name_2', 'Land', 'GTIN'] });
    const named = optionsOf(`sep=;\n${text(NAMED)}`);
    expect(named).toEqual({ delimiter: ';', skipLines: skipLines + 1 });
  });

  it('the reason for a delimited text without a header says what to do with a title', () => {
    expect(recogniseCsv('1;Pump\n2;Motor\n', true)?.reasons.header).toBe(
      'the first row has the value "1", which is not a name; the columns are column1, column2 and so on. If the first lines are a title, delete them and run init again with --force. Or set `skipLines` and `header: true`, and write the names of the columns in the mapping.',
    );
  });

  it('the dialect of a delimited text has a reason for each option', () => {
    const found = recogniseCsv('Export\nsku;name;name\nA;x;y\nB;x;z\n', true);
    expect(Object.keys(found?.reasons ?? {}).toSorted()).toEqual(Object.keys(found?.options ?? {}).toSorted());
  });

  it('the dialect of a text is none where no delimiter gives a table', () => {
    expect(optionsOf('sku\nA\nB\n')).toBeUndefined();
    expect(optionsOf('Some words, and more.\nNo table here\nat all, as, one sees\n')).toBeUndefined();
  });
});

describe('the lists of a JSON text', () => {
  it('the lists of a JSON text are found wherever they are, the one with the most records first', () => {
    const text = JSON.stringify({
      meta: { tags: ['a', 'b'] },
      groups: [{ g: 1 }],
      data: {
        'my parts': [
          { id: 1, lines: [{ q: 1 }, { q: 2 }] },
          { id: 2, name: 'x', lines: [{ q: 3 }] },
        ],
      },
    });
    expect(recogniseJson(text, 'x.json')).toEqual([
      { at: '$.data["my parts"]', isNested: false, objects: 2, members: ['id', 'lines', 'name'] },
      { at: '$.groups', isNested: false, objects: 1, members: ['g'] },
      { at: '$.data["my parts"][*].lines', isNested: true, objects: 3, members: ['q'] },
    ]);
  });

  it('the lists of a JSON text are the lines of JSON lines', () => {
    const text = '{"sku":"A","tags":[{"t":1}]}\n{"sku":"B"}\n{"sku":';
    expect(recogniseJson(text, 'x.txt')).toMatchObject([
      { at: '$', objects: 3, members: ['sku', 'tags'] },
      { isNested: true },
    ]);
  });

  it('the lists of a JSON text are found in one that is cut off, and in one that nests beyond measure', () => {
    expect(recogniseJson('[{"a":"}]\\"","b":{"c":1}},{"a":"unclo', 'x.json')).toMatchObject([{ at: '$', objects: 2 }]);
    expect(recogniseJson(`[{"a":${'['.repeat(100_000)}`, 'x.json')).toMatchObject([{ at: '$', objects: 1 }]);
    expect(recogniseJson(`[{"a":${'[{"b":'.repeat(1_000)}1${'}]'.repeat(1_000)}},{"a":2}]`, 'x')[0]).toMatchObject({
      objects: 2,
    });
  });
});

describe('the records of an XML text', () => {
  it('the records of an XML text are the outermost elements that are repeated, and none repeated within them', () => {
    const product = (id: number) => `<p:item id="${id}"><name>x</name><f k="1">a</f><f k="2">b</f></p:item>`;
    const text = `<?xml version="1.0"?><p:shop version="2"><info><v>1</v></info><p:items>${[1, 2].map(product).join('')}`;
    const found = recogniseXml(text);
    expect(found).toMatchObject({ root: 'shop', version: '2', second: ['info', 'items'] });
    expect(found?.elements[0]).toEqual({ at: '/shop/items/item', count: 2, members: ['@id', 'name', 'f'] });
  });

  it('the records of an XML text are found in one that is cut off, not well-formed, or declares entities without end', () => {
    const bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>';
    const text = `${bomb}<r><i><a>&b;</a><b>2</b></i><i><a>&unknown;</a><b>2</b></j></i><i><a`;
    expect(recogniseXml(text)?.elements[0]).toMatchObject({ at: '/r/i', count: 2 });
    expect(recogniseXml('<a>'.repeat(200_000))).toMatchObject({ root: 'a' });
    expect(recogniseXml('   ')).toBeNull();
  });
});

describe('the header of a sheet', () => {
  const rows = (...cells: string[][]) =>
    cells.map((row, at) => ({
      number: at + 1,
      fields: Object.fromEntries(row.map((cell, column) => [`C${column}`, cell])),
    }));

  it('the header of a sheet is the first wide row that has only names', () => {
    const none = new Set<number>();
    const titled = rows(['Export'], [], ['sku', 'name', 'qty'], ['A', 'x', '1']);
    expect(recogniseHeader(rows(['sku', 'name'], ['A', '1']), none)).toEqual([]);
    expect(recogniseHeader(titled, none)).toMatchObject([{ value: 3 }]);
    expect(recogniseHeader(rows(['1', '2'], ['3', '4']), none)).toMatchObject([{ value: false }]);
  });

  it('the header of a sheet has two rows if cells are merged in the first one, and each column has a name in one of them', () => {
    const two = [
      { name: 'header', value: 1 },
      { name: 'headerRows', value: 2 },
    ];
    const wide = rows(['No', 'Part', '', 'Qty'], ['', 'Code', 'Name', ''], ['P', 'M', 'Steel', '2']);
    const narrow = rows(
      ['No', 'Part', '', 'Qty', ''],
      ['', 'Code', 'Name', 'Value', 'Unit'],
      ['P', 'M', 'x', '2', 'kg'],
    );
    for (const found of [wide, narrow]) expect(recogniseHeader(found, new Set([1]))).toMatchObject(two);
    expect(recogniseHeader(wide, new Set([3]))).toEqual([]);
    const unnamed = rows(['No', 'Part', '', 'Qty'], ['A', 'B', '', 'x'], ['P', 'M', 'Steel', '2']);
    expect(recogniseHeader(unnamed, new Set([1]))).toEqual([]);
  });
});

describe('the format of a file', () => {
  it.each<[string, string | Buffer, object]>([
    [
      'BMEcat 2005',
      '<BMECAT version="2005"><HEADER/><T_NEW_CATALOG/></BMECAT>',
      { connector: 'bmecat', preset: 'bmecat-2005' },
    ],
    ['BMEcat 1.01', '<?xml version="1.0"?><BMECAT version="1.01"><HEADER/></BMECAT>', { preset: 'bmecat-1.2' }],
    [
      'an update of BMEcat',
      '<BMECAT version="1.2"><T_UPDATE_PRODUCTS/></BMECAT>',
      { stream: [{ name: 'contents', value: 'changes' }] },
    ],
    ['GDSN', '<c:catalogueItemNotificationMessage xmlns:c="u"/>', { connector: 'gdsn', preset: 'gdsn' }],
    [
      'an IDoc',
      '<MATMAS05><IDOC><E1MARAM/></IDOC></MATMAS05>',
      { connector: 'sap-idoc', presetStreams: ['materials'] },
    ],
    ['an IDoc without a preset', '<ORDERS05><IDOC><a>1</a><b>2</b></IDOC></ORDERS05>', { connector: 'xml' }],
    ['JSON', '{"d":{"parts":[{"id":1}]}}', { connector: 'json', stream: [{ name: 'at', value: '$.d.parts' }] }],
    ['JSON in UTF-16', Buffer.from('\ufeff[{"a": 1}]', 'utf16le'), { connector: 'json' }],
    ['CSV', 'sku;name\nA;x\n', { connector: 'csv' }],
  ])('the format of a file is recognised: %s', (_about, content, expected) => {
    expect(recogniseFormat(head(content))).toMatchObject(expected);
  });

  it.each<[string, string | Buffer, string, string]>([
    ['an HTML page', '<!doctype html><html></html>', 'is an HTML page', 'a login page'],
    ['a PDF', '%PDF-1.7', 'is a PDF, which dpp-sync does not read.', 'Check'],
    ['EDIFACT', "UNB+UNOA:3+A:ZZ+B:ZZ+260317:1115+1'\nUNH+1+PRICAT:D'\n", 'is EDIFACT (PRICAT), which', 'write CSV'],
    ['fixed width', 'A01  Pump    DE\nA02  Motor   SE\nA03  Fan     IT\n', 'fixed width', 'write `columns`'],
    ['one column', 'sku\nA\nB\n', 'No delimiter', 'fixed-width'],
    ['JSON without records', '{"a": {"b": 1}}', 'no list of objects', 'docs/connectors'],
    ['JSON in UTF-16 without a mark', Buffer.from('[{"a": 1}]', 'utf16le'), 'JSON in UTF-16 without', 'with the mark'],
    ['XML without records', '<a>text</a>', 'nothing in <a> looks like a record', 'docs/connectors'],
    ['bytes', Buffer.alloc(300), 'not a text file', 'Export it as'],
  ])('the file %s is refused with what to do', (_about, content, message, cure) => {
    const refused = expect(() => recogniseFormat(head(content)));
    refused.toThrow(expect.objectContaining({ code: 'usage', message: expect.stringContaining(message) }));
    refused.toThrow(expect.objectContaining({ suggestion: expect.stringContaining(cure) }));
  });
});
