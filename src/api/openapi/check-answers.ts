import type { ItemKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { templateOf, wireNameOf } from '../encode.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { type ApiDocument, type ApiOperation, answersLocation, successSchemaOf } from './document.ts';
import { listed, type Matches, type Report, reportUnread } from './match.ts';
import type { SchemaReader } from './schema.ts';

interface Tools {
  document: ApiDocument;
  profile: Profile;
  schemas: SchemaReader;
  report: Report;
}

/** Checks the ids in answers, and the form and paging of lists. */
export function checkAnswers(document: ApiDocument, matches: Matches, tools: Omit<Tools, 'document'>): void {
  const { profile } = tools;
  const own = { ...tools, document };
  for (const kind of ['product', 'material'] as const) {
    const paths = [...profile.idPaths[kind], ...profile.idUrlPaths[kind]];
    checkId(`${kind}.create`, matches, { setting: `idPaths.${kind}`, paths, tools: own });
  }
  checkId('report.create', matches, { setting: 'reports.idPaths', paths: profile.reports.idPaths, tools: own });
  for (const kind of ['product', 'material'] as const) {
    const entry = checkList(`${kind}.list`, matches, own);
    if (entry === undefined) continue;
    const at = placed(`${kind}.list`, own);
    if (!hasAddress(entry, profile.idUrlPaths[kind], at)) {
      checkPaths(entry, at, [
        {
          what: 'id of an entry',
          setting: `idPaths.${kind}`,
          paths: profile.idPaths[kind],
          breaks: true,
          isLikely: isId,
        },
      ]);
    }
    checkPaths(checkEntry(kind, entry, at), at, [
      {
        what: 'natural key of an entry',
        setting: `naturalKeys.${kind}`,
        paths: profile.naturalKeys[kind].map((name) => wireNameOf(profile, kind, name)),
        breaks: true,
      },
    ]);
  }
  checkPublications(matches, own);
  const report = checkList('report.list', matches, own);
  const { idPaths } = profile.reports;
  const paths = [{ what: 'id of an entry', setting: 'reports.idPaths', paths: idPaths, breaks: true, isLikely: isId }];
  if (report !== undefined) checkPaths(report, placed('report.list', own), paths);
}

type Name = keyof typeof ENDPOINTS;

/** The tools for one operation. They report their findings with its name. */
function placed(name: Name, tools: Tools): Tools {
  const { method, path } = ENDPOINTS[name];
  const report: Report = (difference) => tools.report({ ...difference, path: `${method} ${path}` });
  return { ...tools, report, schemas: tools.schemas.reporting((why) => reportUnread(report, { what: 'answer', why })) };
}

function checkId(
  name: Name,
  matches: Matches,
  { setting, paths, tools }: { setting: string; paths: readonly string[]; tools: Tools },
): void {
  const operation = matches.get(name);
  if (operation !== undefined && answersLocation(operation, tools.document)) return;
  const schema = operation && successSchemaOf(operation, tools.document);
  const breaks = name !== 'report.create';
  checkPaths(schema, placed(name, tools), [{ what: 'id in the answer', setting, paths, breaks, isLikely: isId }]);
}

interface ExpectedPath {
  what: string;
  setting: string;
  paths: readonly string[];
  breaks: boolean;
  /** Whether a field may be meant, by its name. Without it no field is proposed. */
  isLikely?: (name: string) => boolean;
}

/** Reports a value that an object has at none of the paths, with the field that is most likely meant. */
function checkPaths(
  schema: JsonValue | undefined,
  { schemas, report }: Tools,
  expected: readonly ExpectedPath[],
): void {
  const { properties } = schemas.view(schema);
  if (properties.size === 0) return;
  for (const { what, setting, paths, breaks, isLikely } of expected) {
    if (paths.some((path) => schemas.at(schema, path) !== undefined)) continue;
    const likely = isLikely === undefined ? undefined : likelyPath(schema, schemas, isLikely);
    report({
      path: '',
      what,
      found: likely === undefined ? listed(properties.keys()) : `"${likely}"`,
      expected: listed(paths),
      weight: breaks ? 'breaks' : 'note',
      setting,
      ...(likely !== undefined && { value: [likely, ...paths] }),
    });
  }
}

/** Names of ids of items. The id of the owner or of the maker of an item is not the id of the item. */
function isId(name: string): boolean {
  return ID_NAME.test(name) && !OTHERS_ID.test(name);
}

const ID_NAME = /(?:^|_)(?:id|uuid|pk|guid)$|(?:Id|Uuid|ID|UUID)$/;
const OTHERS_ID =
  /^(?:organi[sz]ation|org|tenant|workspace|owner|user|account|company|customer|category|brand|supplier|manufacturer|request|trace|correlation|external|parent|job|batch|created|updated)/i;

/** The first field whose name fits, at the top or one level below. */
function likelyPath(
  schema: JsonValue | undefined,
  schemas: SchemaReader,
  isLikely: (name: string) => boolean,
): string | undefined {
  const { properties } = schemas.view(schema);
  const top = [...properties.keys()].find(isLikely);
  if (top !== undefined) return top;
  for (const [name, property] of properties) {
    const inner = [...schemas.view(property).properties.keys()].find(isLikely);
    if (inner !== undefined) return `${name}.${inner}`;
  }
  return undefined;
}

/** True if an entry has the address of its item where the profile expects it. */
function hasAddress(entry: JsonValue, paths: readonly string[], { schemas }: Tools): boolean {
  return paths.some((path) => schemas.at(entry, path) !== undefined);
}

/**
 * Checks the place of the entries of a list. Returns the schema of an entry; undefined if the document does not show
 * it.
 */
function checkList(name: Name, matches: Matches, tools: Tools): JsonValue | undefined {
  const { document, profile, schemas, report } = placed(name, tools);
  const operation = matches.get(name);
  const schema = operation && successSchemaOf(operation, document);
  if (operation === undefined || schema === undefined) return undefined;
  checkPaging(operation, { profile, schemas, schema, report });
  const view = schemas.view(schema);
  if (view.types.has('array') || view.items !== null) return view.items ?? undefined;
  if (view.properties.size === 0) return undefined;
  const isList = (path: string): boolean => schemas.view(schemas.at(schema, path)).types.has('array');
  const { itemsAt } = profile.list;
  const nested = itemsAt.flatMap((outer) => itemsAt.map((inner) => `${outer}.${inner}`));
  const known = [...itemsAt, ...nested].find(isList);
  if (known !== undefined) {
    const entry = schemas.view(schemas.at(schema, known)).items ?? undefined;
    // Relay nests the entries in edges.
    return entry === undefined ? undefined : (schemas.at(entry, 'node') ?? entry);
  }
  const lists = [...view.properties.keys()].filter(isList);
  const [likely] = lists;
  report({
    path: '',
    what: 'list in the answer',
    found: listed(lists.length > 0 ? lists : view.properties.keys()),
    expected: listed(itemsAt),
    weight: 'breaks',
    ...(likely !== undefined && { setting: 'list.itemsAt', value: [likely, ...itemsAt] }),
  });
  return likely === undefined ? undefined : (schemas.view(schemas.at(schema, likely)).items ?? undefined);
}

const PAGE_PARAMETERS = ['page', 'page_number', 'pageNumber', 'page_no', 'p'];
const SIZE_PARAMETERS = ['page_size', 'pageSize', 'per_page', 'perPage', 'limit', 'size'];
/** Settings for fields that name the next page. With one of them no page number is needed. */
const LEADS = [
  'next',
  'next_url',
  'next_cursor',
  'next_page_token',
  'nextCursor',
  'nextPageToken',
  'next_page',
  'nextPage',
  '@odata.context',
  'pageInfo',
  'links',
  '_links',
  'meta.next_cursor',
  'links.next',
];

function checkPaging(
  { parameters }: ApiOperation,
  { profile, schemas, schema, report }: Omit<Tools, 'document'> & { schema: JsonValue },
): void {
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const { pageParameter, sizeParameter } = profile.list;
  const led = LEADS.some((path) => schemas.at(schema, path) !== undefined);
  const page = query.find((name) => PAGE_PARAMETERS.includes(name));
  const size = query.find((name) => SIZE_PARAMETERS.includes(name));
  const parameter = (what: string, found: string, expected: string, setting: string, breaks: boolean): void => {
    if (query.includes(expected)) return;
    const weight = breaks ? 'breaks' : 'note';
    report({ path: '', what, found: `"${found}"`, expected: `"${expected}"`, weight, setting, value: found });
  };
  if (page !== undefined) parameter('page parameter', page, pageParameter, 'list.pageParameter', !led);
  if (size !== undefined) {
    parameter('page size parameter', size, sizeParameter, 'list.sizeParameter', false);
  }
}

function checkPublications(matches: Matches, tools: Tools): void {
  const entry = checkList('publication.list', matches, tools);
  if (entry === undefined) return;
  const own = placed('publication.list', tools);
  const { publications } = own.profile;
  const { productIdPaths, productUrlPaths, skuPaths, idPaths } = publications;
  const fields = profileEntry(entry, own);
  const isKnown = [...productIdPaths, ...productUrlPaths, ...skuPaths].some(
    (path) => own.schemas.at(fields, path) !== undefined || own.schemas.at(entry, path) !== undefined,
  );
  // The id of the publication itself is never proposed as the id of the product.
  const isProduct = (name: string): boolean => ID_NAME.test(name) && PRODUCT.test(name) && !idPaths.includes(name);
  const at = (
    what: string,
    setting: keyof typeof publications,
    breaks: boolean,
    isLikely?: (name: string) => boolean,
  ): ExpectedPath => ({
    what,
    setting: `publications.${setting}`,
    paths: publications[setting],
    breaks,
    ...(isLikely !== undefined && { isLikely }),
  });
  checkPaths(entry, own, [at('id of an entry', 'idPaths', false, isId)]);
  checkPaths(fields, own, [
    // One of the two fields is enough to know the product of a publication.
    ...(isKnown
      ? []
      : [at('product of an entry', 'productIdPaths', true, isProduct), at('SKU of an entry', 'skuPaths', true)]),
    at('state of an entry', 'statusPaths', false),
    at('time of publication', 'publishedAtPaths', false),
    at('address of the passport', 'urlPaths', false),
  ]);
}

const PRODUCT = /product|item|article|sku/i;

/** The schema of the fields of an entry, as the profile says where they are. */
function profileEntry(entry: JsonValue, { profile, schemas }: Tools): JsonValue {
  return profile.list.entry === null ? entry : (schemas.at(entry, profile.list.entry) ?? entry);
}

/** Fields by which the place of all fields in a body is recognised. */
function marksOf(kind: ItemKind, profile: Profile): string[] {
  const names = kind === 'bom_item' ? ['quantity', 'unit'] : profile.naturalKeys[kind];
  return names.map((name) => wireNameOf(profile, kind, name));
}

/**
 * Compares the place of the fields in the body of a write with the profile. Returns the schema of the fields, wherever
 * the document has them, so that their names are compared.
 */
export function checkEnvelope(
  kind: ItemKind,
  schema: JsonValue | undefined,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): JsonValue | undefined {
  const place = placeOfFields(schema, marksOf(kind, profile), schemas);
  const expected = templateOf(profile, kind)?.places.get('fields') ?? '';
  if (place === null || place === expected) return schemaAt(schema, expected, schemas);
  report({
    path: '',
    what: 'place of the fields in the body',
    found: place === '' ? 'the body itself' : `"${place}"`,
    expected: expected === '' ? 'the body itself' : `"${expected}"`,
    weight: 'breaks',
    setting: `requests.${kind}`,
    value: place === '' ? null : JSON.stringify(templateWith(schema, place.split('.'), schemas)),
  });
  return schemaAt(schema, place, schemas);
}

/** The template of a body with its fields at a place, and beside them the constants of the document. */
function templateWith(schema: JsonValue | undefined, path: readonly string[], schemas: SchemaReader): JsonValue {
  const [name, ...rest] = path;
  if (name === undefined) return '$fields';
  const { properties } = schemas.view(schema);
  const constants = [...properties].flatMap(([other, property]): [string, JsonValue][] => {
    const [only, ...more] = schemas.view(property).values ?? [];
    return other === name || only === undefined || more.length > 0 ? [] : [[other, only]];
  });
  return {
    ...(Object.fromEntries(constants) as JsonObject),
    [name]: templateWith(properties.get(name), rest, schemas),
  };
}

/**
 * Compares the place of the fields in an entry of a list with the profile. Returns the schema of the fields, wherever
 * the document has them.
 */
function checkEntry(
  kind: 'product' | 'material',
  entry: JsonValue,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): JsonValue | undefined {
  const marks = marksOf(kind, profile);
  const { entry: set } = profile.list;
  const place = placeOfFields(entry, marks, schemas);
  const isThere = set !== null && marks.some((name) => schemas.at(entry, `${set}.${name}`) !== undefined);
  if (isThere) return schemas.at(entry, set);
  if (place === null || place === '') return entry;
  report({
    path: '',
    what: 'place of the fields in an entry',
    found: `"${place}"`,
    expected: set === null ? 'the entry itself' : listed([set]),
    weight: 'breaks',
    setting: 'list.entry',
    value: place,
  });
  return schemas.at(entry, place);
}

/** How deep in a body the fields of an item may be: `data.attributes` has the depth 2. */
const DEPTH_MAX = 2;

/**
 * The dotted path of the object that has one of the fields: '' for the schema itself.
 *
 * @returns null if neither the schema nor an object in it has one of the fields
 */
function placeOfFields(schema: JsonValue | undefined, names: readonly string[], schemas: SchemaReader): string | null {
  let level: { path: string; schema: JsonValue | undefined }[] = [{ path: '', schema }];
  for (let depth = 0; depth <= DEPTH_MAX; depth += 1) {
    const views = level.map((one) => ({ ...one, view: schemas.view(one.schema) }));
    const found = views.find(({ view }) => names.some((name) => view.properties.has(name)));
    if (found !== undefined) return found.path;
    level = views.flatMap(({ path, view }) =>
      [...view.properties].map(([name, property]) => ({
        path: path === '' ? name : `${path}.${name}`,
        schema: property,
      })),
    );
  }
  return null;
}

/** The schema at a place that `placeOfFields` has found. */
export function schemaAt(schema: JsonValue | undefined, path: string, schemas: SchemaReader): JsonValue | undefined {
  return path === '' ? schema : schemas.at(schema, path);
}
