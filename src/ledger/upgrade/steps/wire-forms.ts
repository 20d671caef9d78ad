/** Adds the forms in which items are sent, and for each item the form in which the platform has it. */
export const WIRE_FORMS = `
  -- The forms in which the items of a kind were sent, one row for each. The first row of a kind is its first form. An item that was
  -- acknowledged before the ledger knew forms counts as sent in the first form.
  CREATE TABLE wire_forms (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    fields TEXT NOT NULL,             -- JSON: a hash of the bytes of each field
    UNIQUE (kind, fields)
  ) STRICT;
  -- The form of what the API has acknowledged, and that of the bytes that were claimed last. Null stands for the first form of the
  -- kind, also in new rows, and is the only value of a passport.
  ALTER TABLE items ADD COLUMN form INTEGER;
  ALTER TABLE items ADD COLUMN sent_form INTEGER;
  CREATE INDEX items_by_form ON items (kind, form) WHERE acknowledged > 0;
`;
