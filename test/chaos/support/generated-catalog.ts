import { closeSync, openSync, writeSync } from 'node:fs';

const HEAD = `<?xml version="1.0" encoding="UTF-8"?>
<BMECAT version="2005" xmlns="http://www.bmecat.org/bmecat/2005">
  <HEADER>
    <CATALOG><LANGUAGE>deu</LANGUAGE><CATALOG_ID>BIG</CATALOG_ID><CATALOG_VERSION>1.0</CATALOG_VERSION></CATALOG>
  </HEADER>
  <T_NEW_CATALOG>
`;
const TAIL = '  </T_NEW_CATALOG>\n</BMECAT>\n';

/** Writes a BMEcat file of at least this many bytes. Returns the number of its products. */
export function writeCatalog(path: string, bytes: number): number {
  const descriptor = openSync(path, 'w');
  try {
    let written = writeSync(descriptor, HEAD);
    let count = 0;
    while (written < bytes) {
      let block = '';
      for (let index = 0; index < 500; index++) block += productText(++count);
      written += writeSync(descriptor, block);
    }
    writeSync(descriptor, TAIL);
    return count;
  } finally {
    closeSync(descriptor);
  }
}

function productText(number: number): string {
  const id = `P-${String(number).padStart(8, '0')}`;
  const features = Array.from(
    { length: 8 },
    (_, index) => `
        <FEATURE>
          <FNAME>EF00${String(1000 + index)}</FNAME>
          <FVALUE>${(number * (index + 1)) % 997}</FVALUE>
          <FUNIT>MMT</FUNIT>
        </FEATURE>`,
  ).join('');
  return `    <PRODUCT mode="new">
      <SUPPLIER_PID>${id}</SUPPLIER_PID>
      <PRODUCT_DETAILS>
        <DESCRIPTION_SHORT lang="deu">Rohrventilator ${number} für Lüftungsanlagen</DESCRIPTION_SHORT>
        <DESCRIPTION_SHORT lang="eng">Duct fan ${number} for ventilation systems</DESCRIPTION_SHORT>
        <DESCRIPTION_LONG lang="deu">Leiser Ventilator mit Rückwärtskrümmung &amp; Rückschlagklappe, wartungsfrei und sparsam.</DESCRIPTION_LONG>
        <INTERNATIONAL_PID type="gtin">4006381333931</INTERNATIONAL_PID>
        <MANUFACTURER_NAME>Tannwerk Lufttechnik GmbH</MANUFACTURER_NAME>
      </PRODUCT_DETAILS>
      <PRODUCT_FEATURES>
        <REFERENCE_FEATURE_SYSTEM_NAME>ETIM-8.0</REFERENCE_FEATURE_SYSTEM_NAME>
        <REFERENCE_FEATURE_GROUP_ID>EC000059</REFERENCE_FEATURE_GROUP_ID>${features}
      </PRODUCT_FEATURES>
      <PRODUCT_ORDER_DETAILS>
        <ORDER_UNIT>C62</ORDER_UNIT>
        <NO_CU_PER_OU>1</NO_CU_PER_OU>
      </PRODUCT_ORDER_DETAILS>
      <PRODUCT_REFERENCE type="consists_of" quantity="2">
        <PROD_ID_TO>P-00000001</PROD_ID_TO>
      </PRODUCT_REFERENCE>
    </PRODUCT>
`;
}
