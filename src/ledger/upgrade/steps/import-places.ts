/**
 * After this step only members of imports have a place in their request. Before it, a delivery that was sent alone had
 * the place 0, and the members of an import were found by their operation.
 */
export const IMPORT_PLACES = `
  UPDATE items SET request_place = NULL
    WHERE request_id IN (SELECT id FROM requests WHERE operation <> 'product.import');
  DROP INDEX items_of_import;
  CREATE INDEX items_of_import ON items (request_id, request_place) WHERE request_place IS NOT NULL;
`;
