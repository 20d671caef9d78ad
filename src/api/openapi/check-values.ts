import { z } from 'zod';
import { ITEM_FIELDS, type ItemKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import { wireNameOf } from '../encode.ts';
import { listed, type Report } from './difference.ts';
import type { SchemaReader, SchemaView } from './schema.ts';

/** The only status in the API document. */
const DOCUMENTED_STATUS = 'DRAFT';

/** Fields that are sent in one form only, with a value in that form. */
const FORMS: Readonly<Record<string, string>> = {
  country_of_origin: 'DE',
  origin_country: 'DE',
  gtin: '00012345678905',
  unit: 'KGM',
};

/** Compares the values that a schema accepts with the values that can be sent: closed lists of values, and lengths of texts. */
export function checkValues(
  kind: ItemKind,
  { properties }: SchemaView,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): void {
  for (const [name, field] of Object.entries<z.ZodType>(ITEM_FIELDS[kind])) {
    const wire = wireNameOf(profile, kind, name);
    const { values, maxLength, readOnly } = schemas.view(properties.get(wire));
    if (readOnly) continue;
    const form = FORMS[name];
    const takes =
      name === 'status' ? values?.includes(DOCUMENTED_STATUS) : values?.some((value) => isSent(field, value));
    if (values !== null && !takes) {
      const example = name === 'status' ? DOCUMENTED_STATUS : form;
      report({
        path: '',
        what: `values of "${wire}"`,
        found: listed(values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))),
        expected: example === undefined ? 'values that mappings can make' : `"${example}" or its like`,
        weight: 'breaks',
      });
    }
    const longest = form?.length ?? lengthMaxOf(field);
    if (maxLength === null || longest === null || maxLength >= longest) continue;
    report({
      path: '',
      what: `length of "${wire}"`,
      found: `at most ${maxLength}`,
      expected: form === undefined ? `up to ${longest}` : `${longest}`,
      weight: form === undefined ? 'note' : 'breaks',
    });
  }
}

function isSent(field: z.ZodType, value: unknown): boolean {
  return field.safeParse(value).success;
}

/** The longest text that an item may have in a field; null if the field is no text or has no limit. */
function lengthMaxOf(field: z.ZodType): number | null {
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
  return inner instanceof z.ZodString ? inner.maxLength : null;
}
