import type { Profile } from '../../domain/profile.ts';
import { templateOf } from '../encode.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { checkFields } from './check-fields.ts';
import { requestBodyOf } from './content.ts';
import { listed, type Report, reportUnread } from './difference.ts';
import type { ApiDocument } from './document.ts';
import type { Matches } from './match.ts';
import { schemaAt } from './place-of-fields.ts';
import type { SchemaReader } from './schema.ts';

/** Checks the body of the bulk import: a plain list or a list under a name, and the longest list. */
export function checkImport(
  document: ApiDocument,
  matches: Matches,
  { profile, schemas: reader, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): void {
  const operation = matches.get('product.import');
  if (operation === undefined) return;
  const { method, path } = ENDPOINTS['product.import'];
  const at: Report = (difference) => report({ ...difference, path: `${method} ${path}` });
  const schemas = reader.reporting((why) => reportUnread(at, { what: 'request body', why }));
  const { schema } = requestBodyOf(operation, document);
  const body = schemas.view(schema);
  const lists = [...body.properties].filter(([, property]) => schemas.view(property).types.has('array'));
  const names = lists.map(([name]) => name);
  const isBare = body.types.has('array') || body.items !== null;
  if (!isBare && names.length === 0) return;

  const { bodyMember, membersMax } = profile.imports;
  const fits = bodyMember === null ? isBare : names.includes(bodyMember);
  const [first] = names;
  const member = fits ? bodyMember : isBare ? null : (first ?? null);
  if (!fits) {
    const found = isBare ? 'a bare list' : listed(names);
    const expected = bodyMember === null ? 'a bare list' : `"${bodyMember}"`;
    const what = 'member with the products';
    at({ path: '', what, found, expected, weight: 'breaks', setting: 'imports.bodyMember', value: member });
  }
  const list = member === null ? body : schemas.view(body.properties.get(member));
  if (list.maxItems !== null && list.maxItems < membersMax) {
    const setting = 'imports.membersMax';
    const what = 'products in one import';
    const limit = Math.max(list.maxItems, 1);
    at({
      path: '',
      what,
      found: `${list.maxItems}`,
      expected: `${membersMax}`,
      weight: 'breaks',
      setting,
      value: limit,
    });
  }
  if (list.items === null) return;
  const row = templateOf(profile, 'productRow')?.places.get('fields') ?? '';
  checkFields('product.import', schemaAt(list.items, row, schemas), { profile, schemas, report: at });
}
