// Business Central online, as its documentation describes it: OAuth2, entities of a company, and pages of an own API beside them.

import type { JsonObject } from '../../../../src/lib/json.ts';
import { startODataServer } from '../../../support/rest/odata-server.ts';
import type { PresetSource } from '../../../support/rest/preset-world.ts';
import type { RestCall, RestReply } from '../../../support/rest/rest-server.ts';

const API = 'v2.0/tenant/production/api';
const COMPANY = 'companies(70c0c603-f4f9-ef11-9344-6045bdc8c234)';

export async function startBusinessCentral({ pageRows = 2 }: { pageRows?: number } = {}) {
  let token = 1;
  let early: ((call: RestCall) => RestReply | null) | null = null;

  function before(call: RestCall): RestReply | null {
    if (call.path === '/tenant/oauth2/v2.0/token') {
      const form = new URLSearchParams(call.body as string);
      const isKnown = form.get('client_id') === 'client' && form.get('client_secret') === 'client-secret-1';
      const isAsked = form.get('scope') === 'https://api.businesscentral.dynamics.com/.default';
      if (!isKnown || !isAsked) return { status: 401, body: { error: 'invalid_client' } };
      return { body: { access_token: `token-of-business-central-${token}`, token_type: 'Bearer', expires_in: 3599 } };
    }
    if (call.headers.authorization !== `Bearer token-of-business-central-${token}`) {
      return { status: 401, body: { error: { code: 'Authentication_InvalidCredentials' } } };
    }
    return early?.(call) ?? null;
  }

  const own = `${API}/acme/passports/v1.0/${COMPANY}`;
  const filtered = { version: 4, key: ['id'], changedAt: 'systemModifiedAt', delta: 'refused' } as const;
  const service = await startODataServer({
    pageRows,
    before,
    sets: {
      [`${API}/v2.0/${COMPANY}/items`]: { version: 4, key: ['id'], changedAt: 'lastModifiedDateTime', delta: 'link' },
      [`${own}/itemDetails`]: filtered,
      [`${own}/bomLines`]: filtered,
    },
  });
  return {
    ...service,
    items: service.set(`${API}/v2.0/${COMPANY}/items`),
    itemDetails: service.set(`${own}/itemDetails`),
    bomLines: service.set(`${own}/bomLines`),
    /** The token that was given last is refused from now on. */
    expireToken(): void {
      token += 1;
    },
    /** Answers requests for rows in place of the server, until it gets null. */
    answerFirst(reply: ((call: RestCall) => RestReply | null) | null): void {
      early = reply;
    },
  };
}

export type BusinessCentral = Awaited<ReturnType<typeof startBusinessCentral>>;

/** The variables of the preset. */
export const BC_ENV = {
  BC_TENANT: 'tenant',
  BC_ENVIRONMENT: 'production',
  BC_CLIENT_ID: 'client',
  BC_CLIENT_SECRET: 'client-secret-1',
  BC_COMPANY_ID: '70c0c603-f4f9-ef11-9344-6045bdc8c234',
};

/** Lets the preset read a server of the test in place of Microsoft's. */
export function readsFrom({ server }: BusinessCentral, sources: PresetSource[]): void {
  for (const { options } of sources) {
    const auth = options['auth'] as { tokenUrl: string };
    const here = (address: string) => address.replace(/^https:\/\/[^/]+/, server.base);
    options['base'] = here(options['base'] as string);
    auth.tokenUrl = here(auth.tokenUrl);
  }
}

/** The id of an item or of a line. */
export const bcId = (number: number): string => `55e545bc-f6f9-ef11-9344-${String(number).padStart(12, '0')}`;

/** An item as the entity `items` has it. */
export function bcItem(number: number, more: JsonObject = {}): JsonObject {
  return {
    '@odata.etag': 'W/"JzE5OzgzMTM5MjY4MTQ1NzY2MDMzNDIxOzAwOyc="',
    id: bcId(number),
    number: String(number),
    displayName: `Item ${number}`,
    type: 'Inventory',
    itemCategoryCode: '',
    blocked: false,
    gtin: '',
    inventory: 12,
    unitPrice: 19.9,
    baseUnitOfMeasureCode: 'PCS',
    inventoryPostingGroupCode: 'FINISHED',
    ...more,
  };
}

/** A line of a bill, as the page in docs/connectors/business-central.md has it. */
export function bcLine(id: number, product: number, part: number, more: JsonObject = {}): JsonObject {
  return {
    '@odata.etag': 'W/"JzIwOzEwODczMTU1MTYwMTQ3NTQ0MDE5MTswMDsn"',
    id: bcId(id),
    parentItemNumber: String(product),
    position: '',
    type: 'Item',
    number: String(part),
    quantityPer: 1.5,
    unitOfMeasureCode: 'PCS',
    ...more,
  };
}
