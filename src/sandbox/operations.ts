import { createBomItemCreation } from './bom-items.ts';
import type { OperationName } from './endpoints.ts';
import type { IdScheme } from './ids.ts';
import type { LateImports } from './import/late-imports.ts';
import { createProductImport } from './import/product-import.ts';
import { createKeyRevocation } from './key-revocation.ts';
import type { KeyStore } from './keys.ts';
import { createMaterialCreation, createMaterialUpdate } from './materials.ts';
import type { Operation } from './operation.ts';
import { createListOperation } from './paging.ts';
import { createPassportExport } from './passport-pdf.ts';
import { createPassportInit, createPassportPublication, createPassportWithdrawal } from './passports.ts';
import { createProductCreation } from './products.ts';
import { createReportCreation } from './reports.ts';
import type { SandboxSettings } from './settings.ts';
import type { Collections } from './storage.ts';

/** What the operations work on. */
export interface OperationParts {
  collections: Collections;
  ids: IdScheme;
  keys: KeyStore;
  settings: SandboxSettings;
  lateImports: Pick<LateImports, 'add'>;
}

/** A handler for every row of the endpoint table. */
export function createOperations({
  collections,
  ids,
  keys,
  settings,
  lateImports,
}: OperationParts): Record<OperationName, Operation> {
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
