import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { Profile } from '../../../src/domain/profile.ts';
import { echoedOperations, storeEcho } from '../../../src/ledger/store/meta.ts';
import { inTransaction } from '../../../src/ledger/store/tx.ts';
import { ledgerContext } from '../../support/ledger/context.ts';

/** The operations that the ledger knows under another profile than the one under which they have echoed. */
function keptUnder(changed: object): readonly string[] {
  const db = new Database(':memory:');
  try {
    db.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)');
    inTransaction(ledgerContext({ db }), (tx) => storeEcho(tx, 'bom_item.create'));
    return echoedOperations(ledgerContext({ db, profile: Profile.parse(changed) }));
  } finally {
    db.close();
  }
}

describe('the operations whose answers have repeated what was sent', () => {
  it.each<[string, object]>([
    ['natural keys', { naturalKeys: { product: ['gtin'] } }],
    ['places of ids', { idPaths: { bom_item: ['uuid'] } }],
    ['places of addresses', { idUrlPaths: { product: ['url'] } }],
    ['names of fields', { wireNames: { product: { sku: 'number' } } }],
    ['names of refs', { refNames: { product: 'product_id' } }],
    ['forms of requests', { requests: { material: '{"data":"$fields"}' } }],
    ['the place of the fields of an entry', { list: { entry: 'attributes' } }],
    ['the product of a publication', { publications: { productIdPaths: ['item.id'] } }],
    ['the address of the product of a publication', { publications: { productUrlPaths: ['product.url'] } }],
  ])('are forgotten under other settings that say where an answer repeats its request: %s', (_, changed) => {
    expect(keptUnder(changed)).toEqual([]);
  });

  it.each<[string, object]>([
    ['no change', {}],
    ['retries', { retry: { attemptsMax: 3 } }],
    ['the lag of a list', { list: { lagMs: 0 } }],
    ['answers without proof', { answers: { withoutProof: 'accept' } }],
    ['states of publications', { publications: { publicStates: ['shown'] } }],
  ])('are kept under other settings: %s', (_, changed) => {
    expect(keptUnder(changed)).toEqual(['bom_item.create']);
  });
});
