import type { KeyStore } from './access/keys.ts';
import type { OperationName } from './api/endpoints.ts';
import { NOT_FOUND, NoBody, type Operation } from './api/operation.ts';
import type { Collections, IdScheme } from './items/collection.ts';
import { validate } from './items/fields.ts';
import { createListOperation } from './lists/paging.ts';
import {
  createBomItemCreation,
  createMaterialCreation,
  createMaterialUpdate,
  createProductCreation,
} from './operations/items.ts';
import { createPassportInit, createPassportPublication, createPassportWithdrawal } from './operations/passports.ts';
import { createProductImport, type LateImports } from './operations/product-import.ts';
import { createReportCreation } from './operations/reports.ts';
import { createPassportExport } from './pdf/passport-pdf.ts';
import type { SandboxSettings } from './settings/settings.ts';

/** A handler for every row of the endpoint table. */
export function createOperations({
  collections,
  ids,
  keys,
  settings,
  lateImports,
}: {
  collections: Collections;
  ids: IdScheme;
  keys: KeyStore;
  settings: SandboxSettings;
  lateImports: Pick<LateImports, 'add'>;
}): Record<OperationName, Operation> {
  const { products, materials, publications, reports } = collections;
  const passport = { collections, ids, gates: settings.gates, publicBaseUrl: settings.publicBaseUrl };
  return {
    'product.list': createListOperation(products, settings, ['sku']),
    'product.create': createProductCreation(products, settings.duplicates),
    'bom_item.create': createBomItemCreation(collections, ids),
    'material.list': createListOperation(materials, settings, ['code']),
    'material.create': createMaterialCreation(materials, settings.duplicates),
    'material.update': createMaterialUpdate(materials, ids, settings.duplicates),
    'passport.init': createPassportInit(passport),
    'passport.publish': createPassportPublication(passport),
    'passport.unpublish': createPassportWithdrawal(passport),
    'publication.list': createListOperation(publications, settings, ['sku']),
    'passport.pdf': createPassportExport(passport),
    'product.import': createProductImport(products, { settings: settings.import, lateImports }),
    'report.list': createListOperation(reports, settings),
    'report.create': createReportCreation({ ...passport, reports }),
    'api_key.revoke': createKeyRevocation(keys, ids),
  };
}

/** POST /api/api-keys/{key_id}/revoke/. Revoking a revoked key changes nothing and is not an error. */
function createKeyRevocation(keys: KeyStore, ids: IdScheme): Operation {
  return {
    accepts: NoBody,
    naturalKey: ({ params }) => params['key_id'],
    execute({ organizationId, params, body, now }) {
      const parsed = validate(NoBody, body);
      if (!parsed.ok) return parsed.error;
      const id = ids.fromPath(params['key_id'] ?? '');
      const key = id === null ? undefined : keys.revokeWithin(organizationId, id, now);
      if (!key) return NOT_FOUND;
      return {
        status: 200,
        body: {
          id: key.id,
          name: key.name,
          prefix: key.prefix,
          scopes: key.scopes,
          status: 'revoked',
          expires_at: isoOf(key.expiresAt),
          revoked_at: isoOf(key.revokedAt),
        },
      };
    },
  };
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
