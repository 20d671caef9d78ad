import { z } from 'zod';
import type { JsonObject } from '../lib/json.ts';
import type { KeyStore } from './access/keys.ts';
import type { OperationName } from './api/endpoints.ts';
import { type Answer, NOT_FOUND, NoBody, type Operation, textMember } from './api/operation.ts';
import { type Collections, type IdScheme, present } from './items/collection.ts';
import { choice, text, validate } from './items/fields.ts';
import { missingFor, stateOf } from './items/passports.ts';
import { createListOperation } from './lists/paging.ts';
import {
  createBomItemCreation,
  createMaterialCreation,
  createMaterialUpdate,
  createProductCreation,
} from './operations/items.ts';
import {
  createPassportInit,
  createPassportPublication,
  createPassportWithdrawal,
  materialNamed,
  type PassportParts,
} from './operations/passports.ts';
import { createProductImport, type LateImports } from './operations/product-import.ts';
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

const ReportCreation = z.strictObject({
  type: choice(['summary', 'completeness']).optional(),
  title: text(255).nullish(),
});

/** The most products in a completeness report. The report states how many it leaves out. */
const PRODUCTS_MAX = 1000;

/**
 * POST /api/reports/. A report is made at once and never changes. `summary` counts the items; `completeness` lists the
 * products that the gates would stop, with the missing things.
 */
function createReportCreation(parts: PassportParts & { reports: PassportParts['collections']['products'] }): Operation {
  const { collections, gates, reports } = parts;
  const { products, materials, bomItems, passports } = collections;

  const summarise = (organizationId: number): JsonObject => {
    const states = { none: products.count(organizationId), initialized: 0, published: 0, unpublished: 0 };
    for (const passport of passports.slice(organizationId, { offset: 0, limit: passports.count(organizationId) })) {
      states[stateOf(passport)] += 1;
      states.none -= 1;
    }
    return {
      products: products.count(organizationId),
      materials: materials.count(organizationId),
      bom_items: bomItems.count(organizationId),
      passports: states,
    };
  };

  const listIncomplete = (organizationId: number): JsonObject => {
    const examined = products.slice(organizationId, { offset: 0, limit: PRODUCTS_MAX });
    const incomplete = examined.flatMap((product) => {
      const passport = passports.find(organizationId, 'product_id', product.rowId);
      const missing = missingFor(gates, {
        product,
        bomItems: bomItems.all(organizationId, 'product_id', product.rowId),
        materialOf: ({ fields }) => materialNamed(materials, organizationId, fields),
        reviewed: (passport?.fields['reviewed_at'] ?? null) !== null,
      });
      return missing.length === 0 ? [] : [{ product: product.id, sku: product.fields['sku'] ?? null, missing }];
    });
    return {
      complete: examined.length - incomplete.length,
      incomplete,
      unexamined: products.count(organizationId) - examined.length,
    };
  };

  return {
    accepts: ReportCreation,
    naturalKey: ({ body }) => textMember(body, 'title') ?? textMember(body, 'type') ?? 'summary',
    execute({ organizationId, body, now }): Answer {
      const parsed = validate(ReportCreation, body);
      if (!parsed.ok) return parsed.error;
      const { type = 'summary', title = null } = parsed.value;
      const data = type === 'summary' ? summarise(organizationId) : listIncomplete(organizationId);
      const fields = { type, title, status: 'completed', data };
      return { status: 201, body: present(reports.insert(organizationId, { columns: {}, fields, now })) };
    },
  };
}
