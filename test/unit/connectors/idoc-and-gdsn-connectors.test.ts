import { describe, expect, it } from 'vitest';
import { gdsn } from '../../../connectors/gdsn/index.ts';
import { sapIdoc } from '../../../connectors/sap-idoc/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { fixtureFolder, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';

const fieldsOf = (rows: SourceRow[]) => rows.map((row) => row.fields);

describe('the sap-idoc connector', () => {
  const folder = fixtureFolder('sap-idoc');
  const read = (stream: object, options: object = {}) =>
    readRows(sapIdoc, { folder, stream: { contents: 'snapshot', ...stream }, options });

  it('the sap-idoc connector gives segments with their fields as text and the segments in them as lists', async () => {
    const rows = await read({ path: 'matmas.xml', segment: 'E1MARAM', fields: ['EAN11', 'NTGEW'] });
    expect(fieldsOf(rows)).toMatchObject([
      {
        MATNR: '000000000000000100',
        NTGEW: '1.250',
        EAN11: '4006381333931',
        E1MAKTM: [{ SPRAS_ISO: 'DE', MAKTX: 'Rohrventilator 100 mm' }, { SPRAS_ISO: 'EN' }],
        E1MARCM: [{ WERKS: '1000', HERKL: 'DE' }, { WERKS: '2000' }],
      },
      { MATNR: '000000000000000900', EAN11: '', E1MAKTM: [{ MAKTX: 'Laufrad' }] },
      { MATNR: '000000000000000900', EAN11: '', E1MAKTM: [{ MAKTX: 'Laufrad' }] },
      { MATNR: '000000000000000700', MSGFN: '003', EAN11: '', NTGEW: '' },
    ]);
    expect(JSON.stringify(fieldsOf(rows))).not.toContain('DOCNUM');
    expect(rows[1]?.place).toEqual({
      file: 'matmas.xml',
      line: 16,
      path: '/MATMAS05/IDOC[DOCNUM=0000000000100002]/E1MARAM',
    });
  });

  it('the sap-idoc connector gives rows fields of the segments around them and beside those', async () => {
    const parent = {
      STLNR: 'E1STZUM/STLNR',
      MATNR: 'E1STZUM/E1MASTM/MATNR',
      BMENG: 'E1STZUM/E1STKOM/BMENG_C',
      X: 'A/B',
    };
    expect(fieldsOf(await read({ path: 'bommat.xml', segment: 'E1STPOM', parent }))).toMatchObject([
      { POSNR: '0010', MENGE_C: '1.000', STLNR: '00000042', MATNR: '000000000000000100', BMENG: '1.000', X: '' },
      { POSNR: '0020', MENGE_C: '2.000', STLNR: '00000042', MATNR: '000000000000000100', BMENG: '1.000', X: '' },
    ]);
    const plants = await read({ path: 'matmas.xml', segment: 'E1MARCM', parent: { MATNR: 'E1MARAM/MATNR' } });
    expect(fieldsOf(plants).map(({ MATNR, WERKS }) => [MATNR, WERKS])).toEqual([
      ['000000000000000100', '1000'],
      ['000000000000000100', '2000'],
      ['000000000000000900', '1000'],
      ['000000000000000900', '2000'],
      ['000000000000000900', '1000'],
      ['000000000000000900', '2000'],
    ]);
  });

  it.each(['0000000000000000', '0000000000000000000000012', ''])(
    'the sap-idoc connector reads all IDocs with the number %j',
    async (number) => {
      const idoc = (matnr: string) =>
        `<IDOC><EDI_DC40><DOCNUM>${number}</DOCNUM><MESTYP>MATMAS</MESTYP></EDI_DC40><E1MARAM><MATNR>${matnr}</MATNR></E1MARAM></IDOC>`;
      await using temporary = await temporaryFolder({
        'a.xml': `<MATMAS05>${['1', '2', '3'].map(idoc).join('')}</MATMAS05>`,
      });
      const rows = await readRows(sapIdoc, { folder: temporary.path, stream: { path: 'a.xml', segment: 'E1MARAM' } });
      expect(fieldsOf(rows)).toEqual([{ MATNR: '1' }, { MATNR: '2' }, { MATNR: '3' }]);
    },
  );

  it('the sap-idoc connector quarantines a row whose segment has a field of that name', async () => {
    const rows = await read({ path: 'matmas.xml', segment: 'E1MARCM', parent: { WERKS: 'E1MARAM/MATNR' } });
    expect(fieldsOf(rows)[0]).toMatchObject({ WERKS: '1000' });
    expect(rows[0]?.issues).toMatchObject([{ code: 'row.duplicate', field: 'WERKS' }]);
  });

  it('the sap-idoc connector reads only the messages that the config names', async () => {
    const stream = { path: '*mat*.xml', segment: 'E1STPOM' };
    expect(await read(stream, { messages: ['BOMMAT'] })).toHaveLength(2);
    expect(await read(stream, { messages: ['MATMAS'] })).toHaveLength(0);
  });

  it('the sap-idoc connector warns of a segment or a message type that no file has, and names those that are there', async () => {
    const warningsOf = async (stream: object, options: object = {}) => {
      const warnings: string[] = [];
      const onWarning = (message: string) => void warnings.push(message);
      await readRows(sapIdoc, {
        folder,
        options,
        stream: { path: '*mat.xml', contents: 'snapshot', ...stream },
        onWarning,
      });
      return warnings;
    };
    expect(await warningsOf({ segment: 'E1MARAX', path: 'matmas.xml' })).toEqual([
      'No record was read. matmas.xml has no segment E1MARAX. It has E1MARAM, E1MAKTM, E1MARCM. If there should be such segments, correct `segment`.',
    ]);
    expect(await warningsOf({ segment: 'E1MARAM' }, { messages: ['MATMSA'] })).toEqual([
      'No record was read. bommat.xml has no IDoc of the types MATMSA. It has BOMMAT. If there should be such IDocs, correct `messages`.',
    ]);
    // The segment is in one of two files.
    expect(await warningsOf({ segment: 'E1STPOM' })).toEqual([]);
  });

  it('the sap-idoc connector reports an IDoc that is too long, and reads those after it', async () => {
    const rows = await read({ path: 'matmas.xml', segment: 'E1MARAM' }, { maxRecordBytes: 900 });
    expect(rows.map((row) => row.issues?.[0]?.code)).toContain('row.length');
    expect(rows.at(-1)?.fields['MATNR']).toBe('000000000000000700');
  });
});

describe('the gdsn connector', () => {
  const folder = fixtureFolder('gdsn');
  const stream = { path: 'notification.xml', contents: 'snapshot' };

  it('the gdsn connector gives the items of a hierarchy, with languages and measures', async () => {
    const rows = fieldsOf(await readRows(gdsn, { folder, stream, options: { language: ['de'] } }));
    expect(rows).toMatchObject([
      {
        gtin: '14006381333938',
        isTradeItemABaseUnit: 'false',
        children: [{ childGtin: '04006381333931', quantity: '12' }],
      },
      {
        gtin: '04006381333931',
        command: 'ADD',
        tradeItemDescription: 'Rohrventilator 100 mm',
        'tradeItemDescription@lang': { en: 'Duct fan 100 mm', de: 'Rohrventilator 100 mm' },
        brandName: 'Tannwerk',
        countryOfOrigin: ['276'],
        targetMarketCountryCode: '276',
        netWeight: { value: '1.25', unit: 'KGM' },
        netContent: [{ value: '1', unit: 'H87' }],
        children: [],
      },
    ]);
  });

  it('the gdsn connector gives the children of packages', async () => {
    const rows = await readRows(gdsn, { folder, stream: { ...stream, records: 'children' } });
    expect(fieldsOf(rows)).toEqual([
      { parentGtin: '14006381333938', command: 'ADD', childGtin: '04006381333931', quantity: '12' },
    ]);
  });

  it('the gdsn connector reads messages of release 2, and reports a command without an item', async () => {
    const commandOf = (operand: string) =>
      `<documentCommand><documentCommandHeader type="ADD"/><documentCommandOperand>${operand}</documentCommandOperand></documentCommand>`;
    const gtinOf = (gtin: string) => `<tradeItemIdentification><gtin>${gtin}</gtin></tradeItemIdentification>`;
    const lower = `<childTradeItem>${gtinOf('04006381333931')}<quantityOfNextLowerLevelTradeItem>6</quantityOfNextLowerLevelTradeItem></childTradeItem>`;
    const item = `<tradeItem>${gtinOf('14006381333938')}<nextLowerLevelTradeItemInformation>${lower}</nextLowerLevelTradeItemInformation></tradeItem>`;
    const notification = `<gdsn:catalogueItemNotification><catalogueItem>${item}</catalogueItem></gdsn:catalogueItemNotification>`;
    await using message = await temporaryFolder({
      'cin.xml': `<message xmlns:gdsn="urn:ean.ucc:gdsn:2">${commandOf(notification)}${commandOf('<other/>')}</message>`,
    });
    const [items, empty] = await readRows(gdsn, { folder: message.path, stream: { path: 'cin.xml' } });
    expect(items?.fields).toMatchObject({ gtin: '14006381333938', children: [{ childGtin: '04006381333931' }] });
    expect(empty?.issues).toMatchObject([{ code: 'row.item' }]);
    const children = await readRows(gdsn, { folder: message.path, stream: { path: 'cin.xml', records: 'children' } });
    expect(children[0]?.fields).toMatchObject({
      parentGtin: '14006381333938',
      childGtin: '04006381333931',
      quantity: '6',
    });
  });
});
