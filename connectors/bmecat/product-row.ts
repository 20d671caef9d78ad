import {
  createRowNumbering,
  type JsonObject,
  type JsonValue,
  sourceFault,
  type XmlRecord,
  xmlListOf,
  xmlObjectOf,
  xmlObjectsOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';

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

const SYSTEM = '/BMECAT/T_*/CLASSIFICATION_SYSTEM';
/**
 * The elements of a classification system that features refer to. Each is a record of its own, because the whole system may
 * be much longer than a record.
 */
export const DICTIONARY_PATHS = [
  `${SYSTEM}/CLASSIFICATION_SYSTEM_NAME`,
  `${SYSTEM}//CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE`,
  `${SYSTEM}//ALLOWED_VALUE`,
  `${SYSTEM}//UNIT`,
].join(' | ');

/** How many entries of one catalogue are kept. All of ECLASS has about a hundred thousand. */
const ENTRIES_MAX = 1_000_000;

/** The template of a feature. All texts may be empty. */
interface Template {
  id: string;
  name: string;
  unit: string;
}

/** What a catalogue says about the features, values and units to which its products refer by ids. */
export function createDictionary(file: string) {
  const templates = new Map<string, Template & { unitId: string }>();
  const values = new Map<string, string>();
  const units = new Map<string, string>();
  let current = '';
  const entry = (system: string, id: string) => `${system}\n${id}`;

  const kept = <Value>(map: Map<string, Value>, id: string, value: Value): true => {
    map.set(entry(current, id), value);
    if (templates.size + values.size + units.size <= ENTRIES_MAX) return true;
    throw sourceFault(`${file} declares more than ${ENTRIES_MAX} templates, values and units of features.`, {
      suggestion: 'Write the catalogue without the parts of the classification system that its products do not use.',
    });
  };

  return {
    /**
     * Adds the element of a record; returns false for any other element. A catalogue has its systems before its products.
     *
     * @throws a `sourceFault` if the catalogue has too many entries
     */
    add({ name }: XmlRecord, fields: JsonObject): boolean {
      switch (name) {
        case 'CLASSIFICATION_SYSTEM_NAME':
          current = xmlTextOf(fields);
          return true;
        case 'CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE': {
          const template = templateIn(fields);
          return kept(templates, template.id, template);
        }
        case 'ALLOWED_VALUE':
          return kept(values, xmlTextOf(fields['ALLOWED_VALUE_ID']), xmlTextOf(fields['ALLOWED_VALUE_NAME']));
        case 'UNIT':
          return kept(units, xmlTextOf(fields['UNIT_ID']), unitIn(fields));
        default:
          return false;
      }
    },
    /** The template to which a feature refers, or which it contains; null for a feature with a name only. */
    templateOf(feature: JsonObject, system: string): Template | null {
      const reference = xmlTextOf(feature['FT_IDREF']);
      const own = templateIn(xmlObjectOf(feature['FTEMPLATE']));
      const id = reference || own.id;
      if (id === '' && own.name === '') return null;
      const declared = templates.get(entry(system, id));
      const unitId = own.unitId || (declared?.unitId ?? '');
      return {
        id,
        name: own.name || (declared?.name ?? ''),
        unit: own.unit || declared?.unit || (units.get(entry(system, unitId)) ?? unitId),
      };
    },
    /** The names of the values to which a feature refers; the id of a value that the catalogue does not declare. */
    valuesOf: (feature: JsonObject, system: string): JsonValue[] =>
      xmlListOf(feature['VALUE_IDREF']).map((one) => {
        const id = xmlTextOf(one);
        return values.get(entry(system, id)) || id;
      }),
  };
}

export type Dictionary = ReturnType<typeof createDictionary>;

/** The unit is in the template, or in the description of its content. */
function templateIn(fields: JsonObject): Template & { unitId: string } {
  const content = { ...xmlObjectOf(fields['FT_CONTENT']), ...xmlObjectOf(fields['FEATURE_CONTENT']), ...fields };
  return {
    id: xmlTextOf(fields['FT_ID']),
    name: xmlTextOf(fields['FT_NAME']),
    unit: xmlTextOf(content['FT_UNIT']),
    unitId: xmlTextOf(content['FT_UNIT_IDREF']),
  };
}

function unitIn(fields: JsonObject): string {
  return xmlTextOf(fields['UNIT_CODE']) || xmlTextOf(fields['UNIT_SHORTNAME']) || xmlTextOf(fields['UNIT_NAME']);
}
