import {
  type JsonObject,
  type JsonValue,
  xmlListOf,
  xmlObjectOf,
  xmlObjectsOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';
import type { Dictionary } from './dictionary.ts';
import { classesOf, featuresOf, pricesOf, referencesOf, typedOf } from './parts.ts';

/** Sections whose fields become fields of the row. */
const SECTIONS = ['PRODUCT_DETAILS', 'PRODUCT_ORDER_DETAILS', 'PRODUCT_LOGISTIC_DETAILS', 'PRODUCT_DIMENSIONS'];

/** Fields that every row has as text, so that a mapping need not test whether they exist. */
const TEXTS = [
  'DESCRIPTION_SHORT',
  'DESCRIPTION_LONG',
  'EAN',
  'SUPPLIER_ALT_PID',
  'MANUFACTURER_PID',
  'MANUFACTURER_NAME',
  'MANUFACTURER_TYPE_DESCR',
  'ERP_GROUP_BUYER',
  'ERP_GROUP_SUPPLIER',
  'DELIVERY_TIME',
  'REMARKS',
  'ORDER_UNIT',
  'CONTENT_UNIT',
  'NO_CU_PER_OU',
  'PRICE_QUANTITY',
  'QUANTITY_MIN',
  'QUANTITY_INTERVAL',
  'WEIGHT',
  'VOLUME',
  'LENGTH',
  'WIDTH',
  'DEPTH',
];
/** Fields that every row has as a list of texts. */
const LISTS = ['KEYWORD', 'SEGMENT', 'COUNTRY_OF_ORIGIN'];
/** Fields that every row has as a list of `{type, value}`. */
const TYPED = ['BUYER_PID', 'INTERNATIONAL_PID', 'PRODUCT_STATUS', 'SPECIAL_TREATMENT_CLASS'];
/** The elements that the row has in another form. */
const TRANSFORMED = new Set([
  ...SECTIONS,
  '@mode',
  'SUPPLIER_PID',
  'CUSTOMS_TARIFF_NUMBER',
  'PRODUCT_FEATURES',
  'PRODUCT_REFERENCE',
  'PRODUCT_PRICE_DETAILS',
  'MIME_INFO',
  'USER_DEFINED_EXTENSIONS',
]);
const GTIN_TYPES = ['gtin', 'ean', 'upc'];

/**
 * The row of a product: the same for every version of BMEcat. An element that is not known here keeps its name.
 *
 * @param product the element with the names of BMEcat 2005
 */
export function productRow(product: JsonObject, head: JsonObject, dictionary: Dictionary): JsonObject {
  const fields = flattened(product);
  const features = featuresOf(product, dictionary);
  const etim = features.filter((feature) => /^ETIM/i.test(xmlTextOf(feature['REFERENCE_FEATURE_SYSTEM_NAME'])));
  const row: JsonObject = { ...head };
  for (const name of TEXTS) row[name] = xmlTextOf(fields[name]);
  for (const name of ['DESCRIPTION_SHORT', 'DESCRIPTION_LONG'])
    row[`${name}@lang`] = xmlObjectOf(fields[`${name}@lang`]);
  for (const name of LISTS) row[name] = xmlListOf(fields[name]).map((value) => xmlTextOf(value));
  for (const name of TYPED) row[name] = typedOf(fields[name]);
  row['EAN'] ||= internationalEan(row['INTERNATIONAL_PID'] ?? []);
  row['CUSTOMS_TARIFF_NUMBER'] = customsNumbers(fields['CUSTOMS_TARIFF_NUMBER']);
  row['FEATURES'] = valuesByName(features, 'FVALUE');
  row['FEATURE_UNITS'] = valuesByName(
    features.filter((feature) => feature['FUNIT'] !== ''),
    'FUNIT',
  );
  row['CLASSES'] = classesOf(product);
  row['ETIM_CLASS'] = xmlTextOf(etim[0]?.['REFERENCE_FEATURE_GROUP_ID']) || etimClass(product);
  row['ETIM'] = valuesByName(etim, 'FVALUE');
  row['REFERENCES'] = referencesOf(product);
  row['PRICES'] = pricesOf(product);
  row['MIME'] = xmlObjectsOf(product['MIME_INFO']).flatMap((info) => xmlObjectsOf(info['MIME']));
  row['USER_DEFINED_EXTENSIONS'] = xmlObjectOf(product['USER_DEFINED_EXTENSIONS']);
  const others = Object.entries(fields).filter(([name]) => !TRANSFORMED.has(name) && !Object.hasOwn(row, name));
  return others.length === 0 ? row : { ...row, ...Object.fromEntries(others) };
}

/** The fields of a product and of its sections. */
function flattened(product: JsonObject): JsonObject {
  const fields: JsonObject = { ...product };
  for (const section of SECTIONS) Object.assign(fields, xmlObjectOf(fields[section]));
  return fields;
}

/** The values by name, and by the name and id of the template. If a name occurs several times, its values are a list. */
function valuesByName(features: readonly JsonObject[], member: string): JsonObject {
  const byName = new Map<string, JsonValue[]>();
  for (const feature of features) {
    const names = new Set(['FNAME', 'FT_NAME', 'FT_ID'].map((name) => xmlTextOf(feature[name])));
    if (names.size > 1) names.delete('');
    for (const name of names) byName.set(name, [...(byName.get(name) ?? []), ...xmlListOf(feature[member])]);
  }
  return Object.fromEntries(
    [...byName].map(([name, values]) => [name, values.length > 1 ? values : (values[0] ?? '')]),
  );
}

function etimClass(product: JsonObject): string {
  const etim = classesOf(product).find((one) => /^ETIM/i.test(xmlTextOf(one['REFERENCE_FEATURE_SYSTEM_NAME'])));
  return xmlTextOf(etim?.['REFERENCE_FEATURE_GROUP_ID']);
}

function internationalEan(pids: JsonValue): string {
  const gtin = xmlObjectsOf(pids).find(({ type }) => GTIN_TYPES.includes(xmlTextOf(type).toLowerCase()));
  return xmlTextOf(gtin?.['value']);
}

/** BMEcat 2005 has the number in a separate element, with the territories for which it applies. */
function customsNumbers(value: JsonValue | undefined): string[] {
  return xmlListOf(value)
    .map((one) => xmlTextOf(xmlObjectOf(one)['CUSTOMS_NUMBER']) || xmlTextOf(one))
    .filter((number) => number !== '');
}
