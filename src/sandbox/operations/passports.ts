import type { JsonObject } from '../../lib/json.ts';
import {
  type Answer,
  conflict,
  NOT_FOUND,
  NoBody,
  type Operation,
  type OperationRequest,
  textMember,
} from '../api/operation.ts';
import { type Collection, type Entity, type IdScheme, type PassportCollections, present } from '../items/collection.ts';
import { validate } from '../items/fields.ts';
import {
  type Gates,
  missingFor,
  nextState,
  type PassportAction,
  type PassportState,
  productIn,
  stateOf,
} from '../items/passports.ts';

/** The parts that the passport operations need besides the collections. */
export interface PassportParts {
  collections: PassportCollections;
  ids: IdScheme;
  gates: Gates;
  /** The address of the public pages of passports, without a slash at the end. */
  publicBaseUrl: string;
}

/** POST /api/dpp/{product_id}/init/. */
export function createPassportInit(parts: PassportParts): Operation {
  const { passports } = parts.collections;
  return passportOperation(parts, 'init', ({ organizationId, now }, { product, state }) => {
    const fields = {
      product: product.id,
      sku: product.fields['sku'] ?? null,
      status: state,
      public_url: null,
      published_at: null,
      unpublished_at: null,
      reviewed_at: null,
    };
    const passport = passports.insert(organizationId, { columns: { product_id: product.rowId }, fields, now });
    return { status: 201, body: present(passport) };
  });
}

/**
 * POST /api/dpp/{product_id}/publish/. Every publication is a separate entry, so that tests notice a double
 * publication.
 */
export function createPassportPublication(parts: PassportParts): Operation {
  const { collections, gates } = parts;
  const { passports, publications, bomItems, materials } = collections;
  return passportOperation(parts, 'publish', ({ organizationId, now }, { product, passport, state }) => {
    const missing = missingFor(gates, {
      product,
      bomItems: bomItems.all(organizationId, 'product_id', product.rowId),
      materialOf: ({ fields }) => materialNamed(materials, organizationId, fields),
      reviewed: passport.fields['reviewed_at'] !== null,
    });
    if (missing.length > 0) return conflict(`The passport cannot be published: ${summaryOf(missing)}.`, missing);
    const at = new Date(now).toISOString();
    const publicUrl = publicUrlOf(parts.publicBaseUrl, product);
    const shown = { status: state, public_url: publicUrl, published_at: at, unpublished_at: null };
    const columns = { product_id: product.rowId };
    const sku = textMember(product.fields, 'sku') ?? '';
    publications.insert(organizationId, {
      columns: { ...columns, sku },
      fields: { product: product.id, sku, ...shown },
      now,
    });
    const published = passports.update(passport, { columns, fields: { ...passport.fields, ...shown }, now });
    return { status: 200, body: present(published) };
  });
}

/** POST /api/dpp/{product_id}/unpublish/. The ended publication stays in the list, with the time of its end. */
export function createPassportWithdrawal(parts: PassportParts): Operation {
  const { passports, publications } = parts.collections;
  return passportOperation(parts, 'unpublish', ({ organizationId, now }, { product, passport, state }) => {
    const ended = { status: state, unpublished_at: new Date(now).toISOString() };
    const columns = { product_id: product.rowId };
    const publication = publications.all(organizationId, 'product_id', product.rowId).at(-1);
    if (publication) {
      const fields = { ...publication.fields, ...ended };
      publications.update(publication, { columns: { ...columns, sku: textMember(fields, 'sku') ?? '' }, fields, now });
    }
    const fields = { ...passport.fields, ...ended, public_url: null };
    return { status: 200, body: present(passports.update(passport, { columns, fields, now })) };
  });
}

/** An allowed transition, before its gates were checked. */
interface Transition {
  product: Entity;
  passport: Entity;
  /** The status after the action. */
  state: PassportState;
}

/** Stands for the passport of a product that has none. Because of the transition table, only `init` can get it. */
const NO_PASSPORT: Entity = { rowId: 0, id: 0, fields: { status: 'none' }, createdAt: '', updatedAt: '' };

/** The part that the three operations share: the product, the body that must be empty, and the transition table. */
function passportOperation(
  { collections, ids }: PassportParts,
  action: PassportAction,
  perform: (request: OperationRequest, transition: Transition) => Answer,
): Operation {
  return {
    accepts: NoBody,
    naturalKey: (request) => textMember(productIn(collections, ids, request)?.fields, 'sku'),
    execute(request) {
      const product = productIn(collections, ids, request);
      if (!product) return NOT_FOUND;
      const body = validate(NoBody, request.body);
      if (!body.ok) return body.error;
      const known = collections.passports.find(request.organizationId, 'product_id', product.rowId);
      const passport = known ?? NO_PASSPORT;
      const next = nextState(stateOf(passport), action);
      if (!next.ok) return conflict(next.error);
      return perform(request, { product, passport, state: next.value });
    },
  };
}

/** Approves a passport for the review gate. False if the product has no passport. */
export function approvePassport(
  { products, passports }: PassportCollections,
  { organizationId, sku, now }: { organizationId: number; sku: string; now: number },
): boolean {
  const product = products.find(organizationId, 'sku', sku);
  const passport = product && passports.find(organizationId, 'product_id', product.rowId);
  if (!passport) return false;
  const fields: JsonObject = { ...passport.fields, reviewed_at: new Date(now).toISOString() };
  passports.update(passport, { columns: { product_id: product.rowId }, fields, now });
  return true;
}

/** The material that a BOM item or its fields name; undefined for a component. */
export function materialNamed(materials: Collection, organizationId: number, fields: JsonObject): Entity | undefined {
  const id = fields['material'];
  return typeof id === 'string' || typeof id === 'number' ? materials.get(organizationId, id) : undefined;
}

/** The page that a passport's data carrier leads to: a GS1 Digital Link where there is a GTIN (GS1 DL URI Syntax 1.4). */
export function publicUrlOf(base: string, { id, fields }: Entity): string {
  const gtin = textMember(fields, 'gtin');
  return gtin === undefined ? `${base}/passports/${encodeURIComponent(id)}` : `${base}/01/${gtin}`;
}

function summaryOf(missing: string[]): string {
  const shown = missing.slice(0, 5).map((name) => `${name} is missing`);
  return missing.length > shown.length
    ? `${shown.join(', ')} and ${missing.length - shown.length} more`
    : shown.join(', ');
}
