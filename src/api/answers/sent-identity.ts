import { ITEM_KINDS, type ItemKind, REF_ROLES, type RefRole } from '../../domain/item.ts';
import type { ListableKind, SentWrite } from '../../domain/ports/target.ts';
import { allowedFieldsOf, type Profile } from '../../domain/profile.ts';
import type { RequestTemplate } from '../../domain/request-template.ts';
import { kindWord } from '../../domain/words/states.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { templateOf, wireNameOf } from '../encode.ts';
import { fieldsIn, parseJson, valueAt } from './answer-text.ts';
import type { SentField, SentId, SentIdentity, SentKind } from './echo.ts';

/** The names of the natural key's fields in requests, in the order of the profile. */
export type KeyNames = Record<ListableKind, readonly string[]>;

export function keyNamesUnder(profile: Profile): KeyNames {
  const namesOf = (kind: ListableKind): string[] =>
    profile.naturalKeys[kind].map((name) => wireNameOf(profile, kind, name));
  return { product: namesOf('product'), material: namesOf('material') };
}

/** What is read of the requests of a kind. */
interface KindForm {
  /** The form of the body; null if the fields are the body. */
  template: RequestTemplate | null;
  compared: readonly Omit<SentField, 'value'>[];
  others: SentKind['others'];
}

/** Returns a function that reads the values that the answer to a committed write may repeat from its path and bytes. */
export function sentIdentities(
  profile: Profile,
  keyNames = keyNamesUnder(profile),
): (write: SentWrite) => SentIdentity {
  const forms: Record<ItemKind, KindForm> = {
    product: formUnder(profile, 'product'),
    material: formUnder(profile, 'material'),
    bom_item: formUnder(profile, 'bom_item'),
  };
  const created = (kind: ItemKind, { body }: SentWrite): SentIdentity => {
    const { template, compared, others } = forms[kind];
    const sent = bodyOf(body, profile, template);
    const fields = compared.flatMap(({ name, as }): SentField[] => {
      const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
      return value === undefined ? [] : [{ name, value, as }];
    });
    const keys = kind === 'bom_item' ? [] : keysIn(sent, keyNames[kind]);
    const ids = kind === 'bom_item' ? refsIn(sent, profile, template) : [];
    return { keys, ids, fields, kind: { name: kindWord(kind), sent, others } };
  };
  return (write) => {
    switch (write.operation) {
      case 'product.create':
        return created('product', write);
      case 'material.create':
        return created('material', write);
      case 'material.update': {
        const own = { name: 'id', paths: profile.idPaths.material, id: idInPath(write.path), isOwn: true } as const;
        return { ...created('material', write), ids: [own] };
      }
      case 'bom_item.create':
        return created('bom_item', write);
      case 'passport.init':
      case 'passport.publish':
      case 'passport.unpublish': {
        const paths = profile.publications.productIdPaths;
        return { keys: [], ids: [{ name: 'product', paths, id: idInPath(write.path) }], fields: [] };
      }
      // `import-answer.ts` matches the members of an import with the answer.
      case 'product.import':
      case 'product.update':
      case 'bom_item.update':
        return { keys: [], ids: [], fields: [] };
    }
  };
}

/**
 * The fields whose values identify an item beside its natural key, and how they are compared. A platform may give any
 * other field a form of its own: a status of its own, a country by its name, a description as HTML. Such fields prove
 * nothing. A platform that shows another name, code, quantity or unit shows another item.
 */
const COMPARED: Record<ItemKind, readonly Omit<SentField, 'value'>[]> = {
  product: [{ name: 'name', as: 'text' }],
  material: [
    { name: 'name', as: 'text' },
    { name: 'code', as: 'text' },
  ],
  bom_item: [
    { name: 'quantity', as: 'decimal' },
    { name: 'unit', as: 'unit' },
  ],
};

function formUnder(profile: Profile, kind: ItemKind): KindForm {
  const compared = COMPARED[kind].map(({ name, as }) => ({ name: wireNameOf(profile, kind, name), as }));
  return { template: templateOf(profile, kind), compared, others: othersUnder(profile, kind) };
}

/** The fields that identify items of other kinds, and that no item of this kind has. */
function othersUnder(profile: Profile, kind: ItemKind): SentKind['others'] {
  const own = new Set(allowedFieldsOf(profile, kind).map((name) => wireNameOf(profile, kind, name)));
  const names: Record<ItemKind, readonly string[]> = {
    product: profile.naturalKeys.product.map((name) => wireNameOf(profile, 'product', name)),
    material: profile.naturalKeys.material.map((name) => wireNameOf(profile, 'material', name)),
    bom_item: Object.values(profile.refNames),
  };
  return ITEM_KINDS.filter((other) => other !== kind).flatMap((other) =>
    names[other].flatMap((name) =>
      own.has(name) ? [] : [{ name, kind: kindWord(other), isRef: other === 'bom_item' }],
    ),
  );
}

/** The fields and refs of a body, under their names, wherever the template has placed them. */
function bodyOf(body: string | null, profile: Profile, template: RequestTemplate | null): JsonObject {
  const value = body === null ? undefined : parseJson(body);
  if (value === undefined || !isJsonObject(value)) return {};
  if (template === null) return value;
  const fields = fieldsIn(value, template.places.get('fields') ?? null);
  const refs = REF_ROLES.flatMap((role): [string, JsonValue][] => {
    const at = template.places.get(role);
    const id = at === undefined ? undefined : valueAt(value, at);
    return id === undefined ? [] : [[profile.refNames[role], id]];
  });
  return { ...(isJsonObject(fields) ? fields : {}), ...Object.fromEntries(refs) };
}

function keysIn(sent: JsonObject, names: readonly string[]): SentIdentity['keys'] {
  return names.flatMap((name) => {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    return typeof value === 'string' && value !== '' ? [{ name, value }] : [];
  });
}

function refsIn(sent: JsonObject, profile: Profile, template: RequestTemplate | null): SentIdentity['ids'] {
  const pathsOf = (role: RefRole) => refPaths(profile.refNames[role], template?.places.get(role));
  return REF_ROLES.flatMap((role): SentId[] => {
    const at = pathsOf(role);
    const id = Object.hasOwn(sent, at.name) ? sent[at.name] : undefined;
    if (typeof id !== 'string' && typeof id !== 'number') return [];
    const part = OTHER_PART[role];
    const either = part === undefined ? undefined : pathsOf(part);
    return [{ ...at, id, ...(either !== undefined && !Object.hasOwn(sent, either.name) && { either }) }];
  });
}

/** A BOM item has a material or a component. */
const OTHER_PART: Partial<Record<RefRole, RefRole>> = { material: 'component', component: 'material' };

/** An answer may repeat a ref as a field, or where the request has it. */
function refPaths(name: string, inRequest: string | undefined): Pick<SentId, 'name' | 'paths'> {
  return { name, paths: [name, `${name}.id`, `${name}_id`, ...(inRequest === undefined ? [] : [inRequest])] };
}

/** The id in a path. It is near the end of the path: `/api/dpp/7/init/`, `/api/materials/7/`. */
export function idInPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const id = parts.at(parts.includes('dpp') ? -2 : -1) ?? '';
  return decodeURIComponent(id);
}
