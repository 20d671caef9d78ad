import { afterEach, describe, expect, it } from 'vitest';
import { createDeliveryWorld, type DeliveryWorld } from '../support/delivery-world.ts';
import { API_KEY } from '../support/world.ts';

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
  it('is bound and written as the source has it, and neither failed nor doubled', async () => {
    world = await createDeliveryWorld({ profile: { idempotency: 'none' } });
    await createByHand('SKU-A', 'Made by hand');
    world.requests();
    await world.stage({ A: { name: 'From the source' }, B: { name: 'New' } });
    await world.drain();
    expect(world.names()).toEqual({ 'SKU-A': 'From the source', 'SKU-B': 'New' });
    expect(world.sandbox.inspect().organizations['acme']?.products).toHaveLength(2);
    expect(world.ledger.views.itemCounts().product).toEqual({ delivered: 2 });
    expect(world.ledger.views.item('product', 'A')?.remoteId).toEqual(world.products()['SKU-A']?.['id']);
    expect(world.requests()).toEqual({ 'product.create': 2, 'product.list': 1, 'product.import': 1 });
    await world.stage({ A: { name: 'From the source' }, B: { name: 'New' } });
    await world.drain();
    expect(world.requests()).toEqual({});
  });
});
