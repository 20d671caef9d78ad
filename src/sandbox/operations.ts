import type { KeyStore } from './access/keys.ts';
import type { OperationName } from './api/endpoints.ts';
import type { Operation } from './api/operation.ts';
import type { Collections } from './items/collection.ts';
import type { IdScheme } from './items/ids.ts';
import { createListOperation } from './lists/paging.ts';
import { createBomItemCreation } from './operations/bom-items.ts';
import { createKeyRevocation } from './operations/key-revocation.ts';
import { createMaterialCreation, createMaterialUpdate } from './operations/materials.ts';
import { createPassportInit, createPassportPublication, createPassportWithdrawal } from './operations/passports.ts';
import { createProductImport, type LateImports } from './operations/product-import.ts';
import { createProductCreation } from './operations/products.ts';
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
