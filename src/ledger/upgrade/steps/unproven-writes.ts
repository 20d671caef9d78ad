/** Notes of each item whether its last acknowledged write was taken without proof, and why. */
export const UNPROVEN_WRITES = `
  -- Why the answer to the last acknowledged write was taken although it proves too little; null for a proven write.
  ALTER TABLE items ADD COLUMN unproven TEXT;
  CREATE INDEX items_unproven ON items (kind, unproven, source) WHERE unproven IS NOT NULL;
`;
