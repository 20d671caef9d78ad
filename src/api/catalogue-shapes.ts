import type { ListableKind, RemoteItem } from '../domain/ports/target.ts';
import { allowedFieldsOf } from '../domain/profile.ts';
import { itemShape } from './answers/remote-item.ts';
import { type KeyNames, keyNamesUnder } from './answers/sent-identity.ts';
import { wireNameOf } from './encode.ts';
import type { ListShape } from './listing/list-page.ts';
import type { Session } from './session.ts';

/** How the lists of products and materials are read. */
export function catalogueShapes(
  { profile, clean }: Pick<Session, 'profile' | 'clean'>,
  keyNames: KeyNames = keyNamesUnder(profile),
): Record<ListableKind, ListShape<RemoteItem>> {
  const shapeOf = (kind: ListableKind) =>
    itemShape(
      {
        itemsAt: profile.list.itemsAt,
        entryAt: profile.list.entry,
        idPaths: profile.idPaths[kind],
        idUrlPaths: profile.idUrlPaths[kind],
        naturalKeyFields: keyNames[kind],
        wireNames: new Map(allowedFieldsOf(profile, kind).map((name) => [name, wireNameOf(profile, kind, name)])),
      },
      clean,
    );
  return { product: shapeOf('product'), material: shapeOf('material') };
}
