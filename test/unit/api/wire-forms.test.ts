import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { DECIMAL_PATHS, wireFormsOf } from '../../../src/api/encode.ts';
import { fieldsInOtherForm } from '../../../src/domain/delivery/wire-form.ts';
import { fieldNamesOf, ITEM_KINDS, type ItemKind, REF_ROLES } from '../../../src/domain/item.ts';
import { Profile } from '../../../src/domain/profile.ts';

type Settings = z.input<typeof Profile>;

/** The fields of each kind that have another form under the second profile; kinds without such fields are left out. */
function differing(before: Settings, now: Settings): Partial<Record<ItemKind, string[]>> {
  const [old, present] = [before, now].map((settings) => wireFormsOf(Profile.parse(settings)));
  return Object.fromEntries(
    ITEM_KINDS.flatMap((kind) => {
      const fields = fieldsInOtherForm(old![kind], present![kind]);
      return fields.length === 0 ? [] : [[kind, fields]];
    }),
  );
}

const FIELDS = ITEM_KINDS.flatMap((kind) => fieldNamesOf(kind).map((field) => [kind, field] as const));

describe('the form of a kind', () => {
  it.each(FIELDS)('the form of a %s changes with the name of %s, and only there', (kind, field) => {
    expect(differing({}, { wireNames: { [kind]: { [field]: 'another' } } })).toEqual({ [kind]: [field] });
  });

  it.each(REF_ROLES)('the form of a BOM item changes with the name of its ref %s', (role) => {
    expect(differing({}, { refNames: { [role]: 'another' } })).toEqual({
      bom_item: fieldNamesOf('bom_item').sort(),
    });
  });

  it('the form changes with the way of decimals, for every field that has one', () => {
    const fields = (kind: ItemKind) =>
      fieldNamesOf(kind)
        .filter((name) => [...DECIMAL_PATHS[kind]].some((path) => path.split('.')[0] === name))
        .sort();
    expect(differing({}, { decimals: 'number' })).toEqual({
      material: fields('material'),
      bom_item: fields('bom_item'),
    });
  });

  it('the form of a product changes with the place of products in an import', () => {
    expect(differing({}, { imports: { bodyMember: 'items' } })).toEqual({ product: fieldNamesOf('product').sort() });
  });

  it.each<[ItemKind, keyof NonNullable<Settings['requests']>, string]>([
    ['product', 'product', '{"data": "$fields"}'],
    ['product', 'productRow', '{"attributes": "$fields"}'],
    ['material', 'material', '{"data": {"id": "$id", "attributes": "$fields"}}'],
    ['bom_item', 'bom_item', '{"data": "$fields", "product": "$product", "material": "$material"}'],
  ])('the form of a %s changes with the template %s', (kind, name, text) => {
    const requests = { [name]: text };
    expect(differing({}, { requests })).toEqual({ [kind]: fieldNamesOf(kind).sort() });
    // A template may have no body without its refs, and the names of the fields have to show all the same.
    for (const field of fieldNamesOf(kind)) {
      const wireNames = { [kind]: { [field]: 'another' } };
      expect(differing({ requests }, { requests, wireNames })).toEqual({ [kind]: [field] });
    }
  });

  it('an extra field changes no form when it is added or removed, but when it gets another name', () => {
    const extra = (name: string): Settings => ({
      extraFields: { material: ['shade'] },
      wireNames: { material: { shade: name } },
    });
    expect(differing({}, extra('shade'))).toEqual({});
    expect(differing(extra('shade'), {})).toEqual({});
    expect(differing(extra('shade'), extra('tone'))).toEqual({ material: ['shade'] });
  });

  it('settings that change no bytes of items change no form', () => {
    const settings: Settings = {
      naturalKeys: { material: ['name'] },
      idPaths: { product: ['key'] },
      productUpdate: 'none',
      imports: { membersMax: 7, bytesMax: 1024, creates: 'off' },
      idempotency: 'honoured',
      list: { paging: 'page' },
      requests: { contentType: 'application/vnd.api+json' },
    };
    expect(differing({}, settings)).toEqual({});
  });
});
