import {
  createRowNumbering,
  type JsonObject,
  type JsonValue,
  xmlListOf,
  xmlObjectOf,
  xmlObjectsOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';
import type { Dictionary } from './dictionary.ts';

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

// Functions for the parts of a product that are lists. All names are those of BMEcat 2005.

/**
 * The relations of a product to other products. A relation with the type `consists_of` is a line of a bill of
 * materials.
 */
export function referencesOf(product: JsonObject): JsonObject[] {
  const numberOf = createRowNumbering();
  return xmlObjectsOf(product['PRODUCT_REFERENCE']).map(({ '@type': type, '@quantity': quantity, ...rest }) => {
    const target = xmlTextOf(rest['PROD_ID_TO']);
    return {
      type: xmlTextOf(type),
      PROD_ID_TO: target,
      // The same part may be named twice, so the number is a part of the row's key. It counts only lines with this type and
      // part, so that other lines do not change it.
      NUMBER: String(numberOf(xmlTextOf(type), target)),
      quantity: xmlTextOf(quantity),
      ...without(rest, 'PROD_ID_TO'),
    };
  });
}

/** The systems in which a product is classified, with its features in each system. */
export function classesOf(product: JsonObject): JsonObject[] {
  return xmlObjectsOf(product['PRODUCT_FEATURES']).map((given) => ({
    REFERENCE_FEATURE_SYSTEM_NAME: xmlTextOf(given['REFERENCE_FEATURE_SYSTEM_NAME']),
    REFERENCE_FEATURE_GROUP_ID: xmlTextOf(given['REFERENCE_FEATURE_GROUP_ID']),
    REFERENCE_FEATURE_GROUP_NAME: xmlTextOf(given['REFERENCE_FEATURE_GROUP_NAME']),
  }));
}

/**
 * All features of a product, with the system and the group that they belong to. A feature that refers to a template has the
 * id and the name of the template too.
 */
export function featuresOf(product: JsonObject, dictionary: Dictionary): JsonObject[] {
  const classes = classesOf(product);
  return xmlObjectsOf(product['PRODUCT_FEATURES']).flatMap((given, index) => {
    const system = xmlTextOf(given['REFERENCE_FEATURE_SYSTEM_NAME']);
    return xmlObjectsOf(given['FEATURE']).map((feature) => {
      const template = dictionary.templateOf(feature, system);
      return {
        ...classes[index],
        FNAME: xmlTextOf(feature['FNAME']) || xmlTextOf(feature['FT_IDREF']) || template?.name || (template?.id ?? ''),
        FVALUE: featureValue(feature, dictionary.valuesOf(feature, system)),
        FUNIT: xmlTextOf(feature['FUNIT']) || (template?.unit ?? ''),
        FORDER: xmlTextOf(feature['FORDER']),
        FDESCR: xmlTextOf(feature['FDESCR']),
        FVALUE_DETAILS: xmlTextOf(feature['FVALUE_DETAILS']),
        ...(template === null ? {} : { FT_ID: template.id, FT_NAME: template.name }),
      };
    });
  });
}

/**
 * The value of a feature: a text, or a list if there are several values. The variants of a feature count as its values.
 *
 * @param declared the values that the feature names by their ids
 */
function featureValue(feature: JsonObject, declared: readonly JsonValue[]): JsonValue {
  const variants = xmlObjectsOf(xmlObjectOf(feature['VARIANTS'])['VARIANT']).map((variant) =>
    xmlTextOf(variant['FVALUE']),
  );
  const values = [...xmlListOf(feature['FVALUE']).map((value) => xmlTextOf(value)), ...declared, ...variants];
  return values.length > 1 ? values : (values[0] ?? '');
}

/** The prices of a product, each with the time in which it applies. */
export function pricesOf(product: JsonObject): JsonObject[] {
  const prices = xmlObjectsOf(product['PRODUCT_PRICE_DETAILS']).flatMap((details) =>
    xmlObjectsOf(details['PRODUCT_PRICE']).map(({ '@price_type': type, ...price }) => ({
      price_type: xmlTextOf(type),
      PRICE_AMOUNT: xmlTextOf(price['PRICE_AMOUNT']),
      PRICE_CURRENCY: xmlTextOf(price['PRICE_CURRENCY']),
      TAX: xmlTextOf(price['TAX']),
      PRICE_FACTOR: xmlTextOf(price['PRICE_FACTOR']),
      LOWER_BOUND: xmlTextOf(price['LOWER_BOUND']),
      TERRITORY: xmlListOf(price['TERRITORY']).map((territory) => xmlTextOf(territory)),
      valid_start_date: dateOf(details, 'valid_start_date'),
      valid_end_date: dateOf(details, 'valid_end_date'),
    })),
  );
  return prices.map((price, index) => ({ NUMBER: String(index + 1), ...price }));
}

function dateOf(details: JsonObject, type: string): string {
  const date = xmlObjectsOf(details['DATETIME']).find((one) => one['@type'] === type);
  return xmlTextOf(date?.['DATE']) || xmlTextOf(details[type.toUpperCase()]);
}

/** Values with a type, such as `BUYER_PID type="…"`. */
function typedOf(value: JsonValue | undefined): JsonObject[] {
  return xmlListOf(value).map((one) => ({ type: xmlTextOf(xmlObjectOf(one)['@type']), value: xmlTextOf(one) }));
}

function without(fields: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
