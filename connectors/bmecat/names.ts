import { isJsonObject, type JsonValue } from '../../src/sdk/index.ts';

/** Names of BMEcat 1.01 and 1.2 whose name of 2005 does not follow from a rule. */
const RENAMED = new Map([
  ['ART_ID_TO', 'PROD_ID_TO'],
  ['ART_ID', 'PROD_ID'],
]);

/** The name that an element has in BMEcat 2005: `ARTICLE_DETAILS` is `PRODUCT_DETAILS`, `SUPPLIER_AID` is `SUPPLIER_PID`. */
function nameOf2005(name: string): string {
  return RENAMED.get(name) ?? name.replace(/^ARTICLE(?=_|$)/, 'PRODUCT').replace(/_AID(?=_|@|$)/, '_PID');
}

/** Converts all names in a value to those of BMEcat 2005. User-defined extensions keep their names. */
export function withNamesOf2005(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withNamesOf2005);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      nameOf2005(name),
      name === 'USER_DEFINED_EXTENSIONS' ? inner : withNamesOf2005(inner),
    ]),
  );
}
