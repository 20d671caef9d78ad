// SAP S/4HANA as its documentation describes it: products over OData 2 and 4, and bills of materials over OData 2.

import type { JsonObject } from '../../../../src/lib/json.ts';
import { type ODataSetOptions, startODataServer } from '../../../support/rest/odata-server.ts';
import type { RestCall, RestReply } from '../../../support/rest/rest-server.ts';

const PRODUCTS_V2 = 'sap/opu/odata/sap/API_PRODUCT_SRV/A_Product';
const PRODUCTS_V4 = 'sap/opu/odata4/sap/api_product/srvd_a2x/sap/product/0002/Product';
const BOMS = 'sap/opu/odata/sap/API_BILL_OF_MATERIAL_SRV;v=0002/MaterialBOM';

export async function startSap({ pageRows = 2 }: { pageRows?: number } = {}) {
  const login = `Basic ${Buffer.from('DPP:sap-password-1').toString('base64')}`;
  let early: ((call: RestCall) => RestReply | null) | null = null;
  const product = { key: ['Product'], changedAt: 'LastChangeDateTime' };
  const productsV4: ODataSetOptions = {
    ...product,
    version: 4,
    parts: ['_ProductDescription'],
    delta: 'link',
    entityId: (key) => `Product('${key}')`,
  };
  const service = await startODataServer({
    pageRows,
    // The gateway counts rows in the address of the next page.
    token: 'offset',
    before: (call) => (call.headers.authorization === login ? (early?.(call) ?? null) : { status: 401, body: {} }),
    sets: {
      [PRODUCTS_V2]: { ...product, version: 2, parts: ['to_Description', 'to_Plant'] },
      [PRODUCTS_V4]: productsV4,
      [BOMS]: {
        version: 2,
        key: ['BillOfMaterial', 'BillOfMaterialVariant', 'Material', 'Plant'],
        changedAt: 'LastChangeDateTime',
        parts: ['to_BillOfMaterialItem'],
      },
    },
  });
  return {
    ...service,
    productsV2: service.set(PRODUCTS_V2),
    productsV4: service.set(PRODUCTS_V4),
    boms: service.set(BOMS),
    /** The service of the products gives no delta links any more. */
    loseDeltaLinks(): void {
      productsV4.delta = 'none';
    },
    /** Answers requests in place of the server, until it gets null. */
    answerFirst(reply: ((call: RestCall) => RestReply | null) | null): void {
      early = reply;
    },
  };
}

export type Sap = Awaited<ReturnType<typeof startSap>>;

/** The variables of the presets. */
export const sapEnv = ({ server }: Sap) => ({
  SAP_URL: server.base,
  SAP_USER: 'DPP',
  SAP_PASSWORD: 'sap-password-1',
  SAP_PLANT: '1010',
});

/** A day as OData 2 writes it in JSON. */
export const sapDay = (day: string): string => `/Date(${Date.parse(`${day}T00:00:00Z`)})/`;

const described = (name: string) => [
  { Language: 'DE', ProductDescription: `${name} (DE)` },
  { Language: 'EN', ProductDescription: name },
];

/** A product with a number of 18 digits, as far as both versions have the same members. */
function productFields(number: number, more: JsonObject): JsonObject {
  return {
    Product: String(number).padStart(18, '0'),
    ProductType: 'FERT',
    ProductGroup: 'L001',
    BaseUnit: 'PC',
    NetWeight: '4.200',
    WeightUnit: 'KG',
    ProductStandardID: '',
    IsMarkedForDeletion: false,
    ...more,
  };
}

export const productV2 = (number: number, name: string, more: JsonObject = {}): JsonObject => ({
  ...productFields(number, more),
  to_Description: { results: described(name) },
  to_Plant: {
    results: [
      { Plant: '1010', CountryOfOrigin: 'DE' },
      { Plant: '1710', CountryOfOrigin: 'US' },
    ],
  },
});

export const productV4 = (number: number, name: string, more: JsonObject = {}): JsonObject => ({
  ...productFields(number, more),
  _ProductDescription: described(name),
});

/** A bill of a material in a plant, for so many products. */
export function sapBom(number: number, material: number, items: JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    BillOfMaterial: String(number).padStart(8, '0'),
    BillOfMaterialCategory: 'M',
    BillOfMaterialVariant: '1',
    BillOfMaterialVersion: '',
    EngineeringChangeDocument: '',
    Material: String(material).padStart(18, '0'),
    Plant: '1010',
    BillOfMaterialHeaderUUID: `02b8a059-4517-1eed-8e98-${String(number).padStart(12, '0')}`,
    BOMHeaderQuantityInBaseUnit: '1.000',
    BOMHeaderBaseUnit: 'PC',
    IsMarkedForDeletion: false,
    to_BillOfMaterialItem: { results: items },
    ...more,
  };
}

export function sapBomItem(node: number, component: number, quantity: string, more: JsonObject = {}): JsonObject {
  return {
    BillOfMaterialItemNodeNumber: String(node).padStart(8, '0'),
    BillOfMaterialItemNumber: String(10 * node).padStart(4, '0'),
    BillOfMaterialItemCategory: 'L',
    BillOfMaterialComponent: String(component).padStart(18, '0'),
    BillOfMaterialItemQuantity: quantity,
    BillOfMaterialItemUnit: 'PC',
    ValidityStartDate: sapDay('2024-01-01'),
    ValidityEndDate: sapDay('9999-12-31'),
    IsDeleted: false,
    ...more,
  };
}
