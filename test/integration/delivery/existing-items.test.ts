import { afterEach, describe, expect, it } from 'vitest';
import { API_KEY } from '../../support/worlds/world.ts';
import { createDeliveryWorld, type DeliveryWorld } from './delivery-world.ts';

let world: DeliveryWorld;
afterEach(() => world.remove());

async function createByHand(sku: string, name: string): Promise<void> {
  const answer = await fetch(`${world.baseUrl}/api/products/`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ sku, name, status: 'DRAFT', country_of_origin: 'DE' }),
  });
  expect(answer.status).toBe(201);
}

describe('a product that is at the platform before it is created', () => {
  it('a product that the platform has already is adopted as it is where its create is refused, and changed once a person accepts that', async () => {
    world = await createDeliveryWorld({ profile: { idempotency: 'none' } });
    await createByHand('SKU-A', 'Made by hand');
    world.requests();
    await world.stage({ A: { name: 'From the source' }, B: { name: 'New' } });
    await world.drain();
    expect(world.names()).toEqual({ 'SKU-A': 'Made by hand', 'SKU-B': 'New' });
    expect(world.ledger.views.itemCounts().product).toEqual({ delivered: 1, blocked: 1 });
    expect(world.ledger.views.item('product', 'A')).toMatchObject({
      remoteId: world.products()['SKU-A']?.['id'],
      baseline: { sku: 'SKU-A', name: 'Made by hand' },
      reason: { code: 'adopted', fields: { name: '"Made by hand" → "From the source"' } },
    });
    expect(world.requests()).toEqual({ 'product.create': 2, 'product.list': 1 });
    expect(await world.ledger.acceptAdopted('erp')).toEqual({ product: 1 });
    await world.drain();
    expect(world.names()).toEqual({ 'SKU-A': 'From the source', 'SKU-B': 'New' });
    expect(world.sandbox.inspect().organizations['acme']?.products).toHaveLength(2);
    expect(world.requests()).toEqual({ 'product.import': 1, 'product.list': 1 });
    await world.stage({ A: { name: 'From the source' }, B: { name: 'New' } });
    await world.drain();
    expect(world.requests()).toEqual({});
  });

  it('a product that the platform has already is adopted before its create where the list shows it', async () => {
    world = await createDeliveryWorld({ contact: { firstContact: 'list', bom: 'ask' } });
    await createByHand('SKU-A', 'A');
    await createByHand('SKU-Z', 'Of somebody else');
    world.requests();
    await world.stage({ A: { name: 'A', status: 'DRAFT', country_of_origin: 'DE' }, B: {} });
    await world.drain();
    expect(world.requests()).toEqual({ 'product.list': 1, 'publication.list': 1, 'product.create': 1 });
    expect(world.ledger.views.itemCounts().product).toEqual({ delivered: 2 });
  });

  it('a product that the platform has already is compared with the list again where the platform refuses it later', async () => {
    world = await createDeliveryWorld({ contact: { firstContact: 'list', bom: 'ask' } });
    await world.stage({ A: {} });
    await world.drain();
    await createByHand('SKU-B', 'Made by hand');
    world.requests();
    await world.stage({ A: {}, B: { name: 'From the source' } });
    await world.drain();
    expect(world.requests()).toEqual({ 'product.create': 1, 'product.list': 1, 'publication.list': 1 });
    expect(world.ledger.views.item('product', 'B')?.reason?.code).toBe('adopted');
    expect(Object.keys(world.products())).toHaveLength(2);
  });
});
