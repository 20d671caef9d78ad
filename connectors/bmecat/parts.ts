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
export function typedOf(value: JsonValue | undefined): JsonObject[] {
  return xmlListOf(value).map((one) => ({ type: xmlTextOf(xmlObjectOf(one)['@type']), value: xmlTextOf(one) }));
}

function without(fields: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
