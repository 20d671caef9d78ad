import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { type Answer, type Operation, textMember } from '../api/operation.ts';
import { present } from '../items/collection.ts';
import { choice, text, validate } from '../items/fields.ts';
import { missingFor, stateOf } from '../items/passports.ts';
import { materialNamed, type PassportParts } from './passports.ts';

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
export function createReportCreation(
  parts: PassportParts & { reports: PassportParts['collections']['products'] },
): Operation {
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
