import {
  defineFileConnector,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type OpenFile,
  type Page,
  readXmlPages,
  type SourceRow,
  sourceFault,
  XML_FILE_OPTIONS,
  type XmlRecord,
  type XmlRecordOptions,
  xmlListOf,
  xmlObjectOf,
  xmlTextOf,
  z,
} from '../../src/sdk/index.ts';
import {
  classesOf,
  createDictionary,
  DICTIONARY_PATHS,
  type Dictionary,
  featuresOf,
  pricesOf,
  productRow,
  referencesOf,
} from './product-row.ts';

/** The source's `options`. */
const OPTIONS = {
  ...XML_FILE_OPTIONS,
  language: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Languages in order of preference, such as `[deu, de]`, for catalogues with several languages. By default it is the first LANGUAGE of the header. The texts of all languages are in `DESCRIPTION_SHORT@lang` and similar fields.',
    ),
  catalog: z
    .string()
    .min(1)
    .optional()
    .describe('The CATALOG_ID that the header must have, so that the file of another catalogue is refused.'),
};
type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

const RECORDS = ['products', 'references', 'features', 'classes', 'prices', 'groups', 'group-members'] as const;

/** The options of a stream besides its files. */
const STREAM_OPTIONS = {
  records: z
    .enum(RECORDS)
    .default('products')
    .describe(
      'What the rows are: `products`; for each product its `references` (BOM lines among them), `features`, `classes` or `prices`; the catalogue `groups` and their `group-members`.',
    ),
};
type Records = (typeof RECORDS)[number];

const PRODUCTS = '/BMECAT/T_*/PRODUCT | /BMECAT/T_*/ARTICLE';
/** The records whose rows have features. */
const WITH_FEATURES: ReadonlySet<Records> = new Set(['products', 'features']);
const PATHS: Record<Records, string> = {
  products: PRODUCTS,
  references: PRODUCTS,
  features: PRODUCTS,
  classes: PRODUCTS,
  prices: PRODUCTS,
  groups: '/BMECAT/T_*//CATALOG_STRUCTURE',
  'group-members': '/BMECAT/T_*/PRODUCT_TO_CATALOGGROUP_MAP | /BMECAT/T_*/ARTICLE_TO_CATALOGGROUP_MAP',
};

interface CatalogRequest {
  options: Options;
  stream: { records: Records; contents: 'snapshot' | 'changes' };
  signal: AbortSignal;
}

/** Reads the rows of one catalogue. */
async function* readCatalog(file: OpenFile, request: CatalogRequest): AsyncGenerator<Page> {
  const transactions = new Set<string>();
  const options = recordOptions(request, (path) => {
    const transaction = path.split('/')[2] ?? '';
    assertTransaction(file.name, transaction, request.stream.contents);
    if (transaction.startsWith('T_')) transactions.add(transaction);
  });
  yield* readXmlPages(file, options, request.signal, createRowMaker(file, request));
  if (transactions.size > 0) return;
  throw sourceFault(`${file.name} has no T_NEW_CATALOG and no update, so the file is not a catalogue of products.`, {
    suggestion: 'Check whether this is the right file, and whether the export was complete.',
  });
}

function recordOptions({ options, stream }: CatalogRequest, onOutline: (path: string) => void): XmlRecordOptions {
  const dictionary = WITH_FEATURES.has(stream.records) ? ` | ${DICTIONARY_PATHS}` : '';
  return {
    at: `/BMECAT/HEADER${dictionary} | ${PATHS[stream.records]}`,
    roots: ['BMECAT'],
    language: options.language ?? [],
    trim: true,
    encoding: options.encoding,
    entities: options.entities,
    maxRecordBytes: options.maxRecordBytes,
    onOutline,
  };
}

/** Makes rows from a file's records. The records come in the order of the file, so the header comes first. */
function createRowMaker(file: OpenFile, request: CatalogRequest): (record: XmlRecord) => Iterable<SourceRow> {
  let header: Header | null = null;
  const dictionary = createDictionary(file.name);
  return function* (record) {
    if (record.name === 'HEADER') {
      header = headerOf(record.fields, file.name, request.options);
      return;
    }
    if (header === null && request.options.catalog !== undefined) {
      throw sourceFault(
        `${file.name} has no HEADER, so dpp-sync does not know whether the file is the catalogue ${request.options.catalog}.`,
        {
          suggestion: 'Write the export with its header, or remove `catalog` from the options.',
        },
      );
    }
    const spoken = request.options.language === undefined ? inLanguage(record.fields, header?.language) : record.fields;
    if (dictionary.add(record, spoken)) return;
    const { place, issues } = record;
    const named = { ...record, fields: xmlObjectOf(withNamesOf2005(spoken)) };
    for (const fields of rowsOf(named, request, dictionary))
      yield issues === undefined ? { fields, place } : { fields, place, issues };
  };
}

/** @param record has the names of BMEcat 2005 */
function rowsOf(record: XmlRecord, { stream }: CatalogRequest, dictionary: Dictionary): JsonObject[] {
  const transaction = (record.place.path ?? '').split('/')[2] ?? '';
  const { fields } = record;
  if (stream.records === 'groups') return [groupRow(fields)];
  if (stream.records === 'group-members') return [memberRow(fields)];
  // An update of prices has no data about products except their numbers, so it only gives rows of prices.
  if (transaction === 'T_UPDATE_PRICES' && stream.records !== 'prices') return [];
  const head = {
    SUPPLIER_PID: xmlTextOf(fields['SUPPLIER_PID']),
    mode: xmlTextOf(fields['@mode']).toLowerCase() || (transaction === 'T_NEW_CATALOG' ? 'new' : 'update'),
  };
  // A product that could not be read becomes one row, even if a readable product would become several rows.
  if (record.issues !== undefined && stream.records !== 'products') return [{ ...head, ...fields }];
  switch (stream.records) {
    case 'products':
      return [productRow(fields, head, dictionary)];
    case 'references':
      return referencesOf(fields).map((row) => ({ ...head, ...row }));
    case 'features':
      return featuresOf(fields, dictionary).map((row) => ({ ...head, ...row }));
    case 'classes':
      return classesOf(fields).map((row) => ({ ...head, ...row }));
    case 'prices':
      return pricesOf(fields).map((row) => ({ ...head, ...row }));
  }
}

function groupRow(fields: JsonObject): JsonObject {
  const { '@type': type, ...rest } = fields;
  const texts = ['GROUP_ID', 'GROUP_NAME', 'GROUP_DESCRIPTION', 'PARENT_ID', 'GROUP_ORDER'];
  const known = Object.fromEntries(texts.map((name) => [name, xmlTextOf(rest[name])]));
  const keywords = xmlListOf(rest['KEYWORD']).map((keyword) => xmlTextOf(keyword));
  return { ...rest, type: xmlTextOf(type), ...known, KEYWORD: keywords };
}

function memberRow(fields: JsonObject): JsonObject {
  const { '@mode': mode, ...rest } = fields;
  return {
    ...rest,
    SUPPLIER_PID: xmlTextOf(rest['PROD_ID']),
    CATALOG_GROUP_ID: xmlTextOf(rest['CATALOG_GROUP_ID']),
    mode: xmlTextOf(mode).toLowerCase() || 'new',
  };
}

/**
 * Throws if the kind of the file does not fit the config. If a file of changes were read as a file of all products, all
 * other products would count as missing.
 */
function assertTransaction(file: string, transaction: string, contents: 'snapshot' | 'changes'): void {
  if (contents === 'changes' || !transaction.startsWith('T_UPDATE_')) return;
  throw sourceFault(`${file} is a ${transaction}, which has only changes and not the whole catalogue.`, {
    suggestion: 'Set `contents: changes` for the stream, or set its path to the files of whole catalogues.',
  });
}

/** The values of a catalogue's header that are needed to read its products. */
interface Header {
  /** The language that is used if a text exists in several; undefined if the header names none. */
  language: string | undefined;
}

/** @throws a `sourceFault` if the file is not the catalogue that the config names */
function headerOf(fields: JsonObject, file: string, options: Options): Header {
  const catalog = xmlObjectOf(fields['CATALOG']);
  const id = xmlTextOf(catalog['CATALOG_ID']);
  if (options.catalog !== undefined && id !== options.catalog) {
    throw sourceFault(`${file} is the catalogue ${id === '' ? 'without an id' : id}, not ${options.catalog}.`, {
      suggestion: 'Check whether this is the right file. If the supplier has renamed the catalogue, change `catalog`.',
    });
  }
  const languages = xmlListOf(catalog['LANGUAGE']);
  const preset = languages.find((language) => xmlTextOf(xmlObjectOf(language)['@default']).toLowerCase() === 'true');
  return { language: xmlTextOf(preset ?? languages[0]) || undefined };
}

/** If a text exists in several languages, puts the text of the given language first. */
function inLanguage(fields: JsonObject, language: string | undefined): JsonObject {
  if (language === undefined) return fields;
  const wanted = language.toLowerCase();
  const chosen = Object.entries(fields).map(([name, value]): [string, JsonValue] => {
    const all = fields[`${name}@lang`];
    const spoken = isJsonObject(all) ? Object.entries(all).find(([code]) => code.toLowerCase() === wanted) : undefined;
    return [name, spoken?.[1] ?? inner(value, language)];
  });
  return Object.fromEntries(chosen);
}

function inner(value: JsonValue, language: string): JsonValue {
  if (Array.isArray(value)) return value.map((one) => inner(one, language));
  return isJsonObject(value) ? inLanguage(value, language) : value;
}

/** Names of BMEcat 1.01 and 1.2 whose name of 2005 does not follow from a rule. */
const RENAMED = new Map([
  ['ART_ID_TO', 'PROD_ID_TO'],
  ['ART_ID', 'PROD_ID'],
]);

/** The name that an element has in BMEcat 2005: `ARTICLE_DETAILS` is `PRODUCT_DETAILS`, `SUPPLIER_AID` is `SUPPLIER_PID`. */
function nameOf2005(name: string): string {
  return RENAMED.get(name) ?? name.replace(/^ARTICLE(?=_|$)/, 'PRODUCT').replace(/_AID(?=_|@|$)/, '_PID');
}

/** Converts all names in a value to those of BMEcat 2005. User-defined extensions keep their names. */
function withNamesOf2005(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withNamesOf2005);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      nameOf2005(name),
      name === 'USER_DEFINED_EXTENSIONS' ? inner : withNamesOf2005(inner),
    ]),
  );
}

/** Product catalogues in BMEcat 1.01, 1.2 and 2005. */
export const bmecat = defineFileConnector({
  id: 'bmecat',
  title: 'BMEcat catalogues (1.01, 1.2, 2005)',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: readCatalog,
});
