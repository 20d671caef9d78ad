import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimOne, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { NO_PARTS, useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, NO_GUARD, pullAndMap, pullRows, row } from '../../support/ledger/records.ts';

const fixture = useLedger({ rules: NO_PARTS });

/** Each id is a row. M… is a material, B… is a BOM item of `A` and `M1`, and any other id is a product. */
async function stage(ids: readonly string[], sku?: (id: string) => string): Promise<void> {
  await pullAndMap(
    fixture.ledger,
    ids.map((id) => row(id, { sku: sku?.(id) ?? '' })),
    (fields) => {
      const id = text(fields['id']);
      if (id.startsWith('M')) return items(material(id));
      if (id.startsWith('B')) return items(bomItem(id, 'A', 'M1'));
      return items({ ...product(id), payload: { sku: sku?.(id) ?? `SKU-${id}`, name: id } });
    },
  );
}

/** Claims the due deliveries, and settles each with the decision for its key. */
async function deliver(decisions: Record<string, Decision>): Promise<Record<string, string>> {
  const { ledger } = fixture;
  const states: Record<string, string> = {};
  for (const { id, key } of await ledger.dueDeliveries({ afterId: 0, limit: 100 })) {
    const decision = decisions[key];
    if (decision === undefined || (await claimOne(ledger, id)) === null) continue;
    const { instead } = await settleOne(ledger, { id, decision });
    states[key] = (instead ?? decision).kind;
  }
  return states;
}

const stateOf = (kind: 'product' | 'material' | 'bom_item', key: string) => fixture.ledger.views.item(kind, key);
const soundness = () => verifyLedger(fixture.file, () => {})?.findings.map(({ check }) => check);

describe('a remote id', () => {
  it(
    'a remote id that another item has is not given a second time, at the cost of this item alone',
    covers('answer-lost', 'I4', 'I6'),
    async () => {
      await stage(['A', 'X', 'C', 'M1']);
      const states = await deliver({ A: delivered(1), X: delivered(1), C: delivered(3), M1: delivered(1) });
      expect(states).toEqual({ A: 'delivered', X: 'unconfirmed', C: 'delivered', M1: 'delivered' });
      expect(stateOf('product', 'X')).toMatchObject({
        state: 'in_doubt',
        remoteId: null,
        reason: { code: 'shared_id' },
      });
      expect(stateOf('product', 'X')?.reason?.message).toMatch(/product X, and the product A has it already/);
      // It is looked up in the list by itself.
      expect(await fixture.ledger.unconfirmedDeliveries({ limit: 9 })).toMatchObject([{ key: 'X' }]);
      expect(soundness()).toEqual([]);
    },
  );

  it(
    'a remote id that a list or a person gives a second time leaves the item to a person',
    covers('answer-lost', 'I6'),
    async () => {
      await stage(['A', 'X']);
      await deliver({ A: delivered(1), X: delivered(1, 'read_back') });
      expect(stateOf('product', 'X')).toMatchObject({ state: 'in_doubt', reason: { code: 'shared_id' } });
      expect(await fixture.ledger.nextDueAt()).toBeNull();
      const [unconfirmed] = await fixture.ledger.deliveriesNamed('X');
      await settleOne(fixture.ledger, {
        id: unconfirmed?.id ?? 0,
        decision: { ...delivered(2), by: 'person' } as Decision,
      });
      expect(stateOf('product', 'X')).toMatchObject({ state: 'delivered', remoteId: 2 });
    },
  );

  it(
    'the remote ids of BOM items are unique too, and unknown ids are exempt',
    covers('answer-lost', 'I6'),
    async () => {
      await stage(['A', 'M1', 'B1', 'B2', 'B3', 'B4']);
      await deliver({ A: delivered(1), M1: delivered(2) });
      const unknown = { ...delivered(0), remoteId: null } as Decision;
      const states = await deliver({ B1: delivered(7), B2: delivered(7), B3: unknown, B4: unknown });
      expect(states).toEqual({ B1: 'delivered', B2: 'unconfirmed', B3: 'delivered', B4: 'delivered' });
      expect(await fixture.ledger.nextDueAt()).toBeNull();
      // B1 has the id by the answer that was meant for B2. A person sees at the platform that B2 has it.
      const [unconfirmed] = await fixture.ledger.deliveriesNamed('B2');
      await settleOne(fixture.ledger, {
        id: unconfirmed?.id ?? 0,
        decision: { ...delivered(7), by: 'person' } as Decision,
      });
      expect(stateOf('bom_item', 'B2')).toMatchObject({ state: 'delivered', remoteId: null });
      expect(stateOf('bom_item', 'B2')?.timeline).toContainEqual(
        expect.objectContaining({
          what: 'id_not_stored',
          detail: 'The ledger has the id 7 for the BOM item B1, so this item does not get the id.',
        }),
      );
      expect(stateOf('bom_item', 'B1')).toMatchObject({ state: 'delivered', remoteId: 7 });
      expect(soundness()).toEqual([]);
    },
  );

  it('a remote id of a gone item goes to the item in its place', covers('changed-amid', 'I4'), async () => {
    await stage(['A', 'M1'], (id) => `SKU-${id}`);
    await deliver({ A: delivered(1), M1: delivered(2) });
    // The row has another key now, and the same SKU.
    await stage(['N', 'M1'], () => 'SKU-A');
    await stage(['N', 'M1'], () => 'SKU-A');
    expect(await deliver({ N: delivered(1, 'read_back') })).toEqual({ N: 'delivered' });
    expect(stateOf('product', 'N')).toMatchObject({ remoteId: 1 });
    expect(stateOf('product', 'A')?.timeline).toContainEqual(expect.objectContaining({ what: 'id_left' }));
    expect(soundness()).toEqual([]);
  });

  it('an item has in its timeline that the platform writes its natural key in another form', async () => {
    await stage(['A']);
    await deliver({ A: { ...delivered(1), shownAs: 'The platform shows the sku as "sku-a".' } as Decision });
    expect(stateOf('product', 'A')?.timeline).toContainEqual(
      expect.objectContaining({ what: 'shown_as', detail: 'The platform shows the sku as "sku-a".' }),
    );
  });
});

describe('an item that gave its id to another one', () => {
  const due = async () =>
    (await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).map(({ key, operation }) => [key, operation]);

  /** The row of A has the key N from now on, and the platform gives N the id of A. */
  async function rename(others: readonly string[]): Promise<void> {
    await stage(['N', ...others], () => 'SKU-A');
    expect(await deliver({ N: delivered(1, 'read_back') })).toEqual({ N: 'delivered' });
  }

  it('an item that gave its id away is created again once it is back', covers('changed-amid', 'I4', 'I5'), async () => {
    await stage(['A', 'M1'], () => 'SKU-A');
    await deliver({ A: delivered(1), M1: delivered(2) });
    await rename(['M1']);
    expect(await due()).toEqual([]);
    // The row is the same as before.
    await stage(['N', 'A', 'M1'], () => 'SKU-A');
    expect(await due()).toEqual([['A', 'product.create']]);
    expect(await deliver({ A: delivered(3) })).toEqual({ A: 'delivered' });
    expect(stateOf('product', 'A')).toMatchObject({ state: 'delivered', remoteId: 3 });
    expect(soundness()).toEqual([]);
  });

  it(
    'BOM items wait for an item that gave its id away, until it is back',
    covers('changed-amid', 'I4', 'I5'),
    async () => {
      await stage(['A', 'M1', 'B1'], () => 'SKU-A');
      await deliver({ A: delivered(1), M1: delivered(2) });
      await deliver({ B1: delivered(7) });
      await rename(['M1', 'B1']);
      // The BOM item at the platform belongs to N now.
      expect(stateOf('bom_item', 'B1')).toMatchObject({ state: 'waiting', remoteId: null });
      expect(fixture.ledger.views.waitingFor(9)).toMatchObject([{ kind: 'product', key: 'A', count: 1 }]);
      expect(soundness()).toEqual([]);
      await stage(['N', 'A', 'M1', 'B1'], () => 'SKU-A');
      expect(await deliver({ A: delivered(3) })).toEqual({ A: 'delivered' });
      expect(await deliver({ B1: delivered(8) })).toEqual({ B1: 'delivered' });
      expect(soundness()).toEqual([]);
    },
  );

  it.each([{ answer: 1 }, { answer: null }])(
    'an item that gave its id away is created again where a change of it was in flight, answered with the id $answer',
    covers('changed-amid', 'I3', 'I4'),
    async ({ answer }) => {
      const { ledger } = fixture;
      await stage(['A', 'M1'], () => 'SKU-A');
      await deliver({ A: delivered(1), M1: delivered(2) });
      await pullAndMap(ledger, [row('A', { v: 2 }), row('M1', { sku: 'SKU-A' })], () =>
        items({ ...product('A'), payload: { sku: 'SKU-A', name: 'Changed' } }),
      );
      const [change] = await ledger.dueDeliveries({ afterId: 0, limit: 9 });
      await claimOne(ledger, change?.id ?? 0);
      await rename(['M1']);
      expect(stateOf('product', 'A')).toMatchObject({ state: 'sending' });
      await settleOne(ledger, { id: change?.id ?? 0, decision: delivered(answer) });
      expect(await due()).toEqual([]);
      expect(stateOf('product', 'N')).toMatchObject({ remoteId: 1 });
      await stage(['N', 'A', 'M1'], () => 'SKU-A');
      expect(await due()).toEqual([['A', 'product.create']]);
      expect(soundness()).toEqual([]);
    },
  );

  it.each([{ answer: 1 }, { answer: null }])(
    'an item that gave its id away and came back is created again after a change in flight is answered with the id $answer',
    covers('changed-amid', 'I3', 'I4'),
    async ({ answer }) => {
      const { ledger } = fixture;
      const stageProducts = async (ids: readonly string[], name: string) => {
        await pullRows(ledger, { rows: ids.map((id) => row(id, { name })), guard: NO_GUARD });
        await mapRows(ledger, ({ id }) => items({ ...product(text(id)), payload: { sku: 'SKU-A', name } }));
      };
      await stageProducts(['A'], 'Old');
      await deliver({ A: delivered(1) });
      await stageProducts(['A'], 'New');
      const [change] = await ledger.dueDeliveries({ afterId: 0, limit: 9 });
      const id = change?.id ?? 0;
      await claimOne(ledger, id);
      await stageProducts(['N'], 'New');
      expect(await deliver({ N: delivered(1, 'read_back') })).toEqual({ N: 'delivered' });
      await stageProducts(['N', 'A'], 'New');
      expect(stateOf('product', 'A')).toMatchObject({ state: 'sending' });
      await settleOne(ledger, { id, decision: delivered(answer) });
      expect(await due()).toEqual([['A', 'product.create']]);
      expect(soundness()).toEqual([]);
    },
  );

  it(
    'an item that gave its id to another one under an earlier version is created again once the ledger is opened',
    covers('changed-amid', 'I5'),
    async () => {
      await stage(['A', 'M1'], () => 'SKU-A');
      await deliver({ A: delivered(1), M1: delivered(2) });
      await fixture.ledger.close();
      const db = new Database(fixture.file);
      db.exec("UPDATE items SET remote_id = 'null' WHERE kind = 'material'");
      db.close();
      await fixture.reopen();
      await stage(['A', 'M1', 'B1'], () => 'SKU-A');
      expect(await due()).toEqual([]);
      expect(fixture.ledger.views.waitingFor(9)).toMatchObject([{ kind: 'material', key: 'M1', count: 1 }]);
      await fixture.ledger.recover(0);
      expect(await due()).toEqual([['M1', 'material.create']]);
      expect(await deliver({ M1: delivered(3) })).toEqual({ M1: 'delivered' });
      expect(await due()).toEqual([['B1', 'bom_item.create']]);
      expect(soundness()).toEqual([]);
    },
  );
});

describe('a create that was refused because its item exists', () => {
  const refused = (more: object): Decision => ({
    kind: 'rejected',
    reason: { code: 'exists', message: 'It exists.', ...more },
  });

  it(
    'a create that was refused because its item exists is looked for again by the next run of its source, alone',
    covers('answer-lost', 'I5'),
    async () => {
      await stage(['A', 'X']);
      await deliver({ A: refused({ lookAgain: true, since: 1 }), X: refused({}) });
      expect(stateOf('product', 'A')?.state).toBe('rejected');
      await stage(['A', 'X']);
      expect(await fixture.ledger.unconfirmedDeliveries({ limit: 9 })).toMatchObject([
        { key: 'A', reason: { code: 'exists', lookAgain: true, since: 1 } },
      ]);
      expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
    },
  );
});

describe('a remote id of all kinds', () => {
  const UUID = '0f9c1f3e-5f0e-4c57-9a51-6e1c5c6f8a01';

  it.each([UUID, UUID.toUpperCase(), '507f1f77bcf86cd799439011', '01ARZ3NDEKTSV4RRFFQ69G5FAV'])(
    'a UUID or another random text belongs to one item of all kinds: %s',
    covers('answer-lost', 'I4', 'I6'),
    async (id) => {
      await stage(['A', 'M1']);
      expect(await deliver({ A: delivered(id), M1: delivered(id) })).toEqual({ A: 'delivered', M1: 'unconfirmed' });
      const shared = stateOf('material', 'M1');
      expect(shared).toMatchObject({ state: 'in_doubt', remoteId: null, reason: { code: 'shared_id' } });
      expect(shared?.reason?.message).toMatch(/material M1, and the product A has it already/);
      expect(soundness()).toEqual([]);
    },
  );

  it('a UUID of a product is not the id of its BOM item', async () => {
    await stage(['A', 'M1']);
    await deliver({ A: delivered(UUID), M1: delivered(2) });
    await stage(['A', 'M1', 'B1']);
    expect(await deliver({ B1: delivered(UUID) })).toEqual({ B1: 'unconfirmed' });
    expect(await fixture.ledger.nextDueAt()).toBeNull();
  });

  it('a number, a code or a readable text may belong to one item of each kind', async () => {
    const ids = [7, 'A-7', 'steel-sheet-galvanised-2mm', 'WERKSTOFFNUMMERZWANZIG'];
    const both = ids.flatMap((id, at) => [`A${at}`, `M${at}`].map((key) => [key, delivered(id)] as const));
    await stage(both.map(([key]) => key));
    const states = await deliver(Object.fromEntries(both));
    expect(states).toEqual(Object.fromEntries(both.map(([key]) => [key, 'delivered'])));
  });
});

describe('a write that was taken without proof', () => {
  const taken = (id: number): Decision => ({ ...delivered(id), unproven: 'assumed_empty' });

  it('an id that was taken without proof is counted until a list shows whose it is', async () => {
    await stage(['A', 'X', 'M1']);
    await deliver({ A: taken(1), X: delivered(2), M1: taken(1) });
    const { views } = fixture.ledger;
    expect(views.unproven()).toEqual([
      { kind: 'product', because: 'assumed_empty', count: 1 },
      { kind: 'material', because: 'assumed_empty', count: 1 },
    ]);
    expect(views.unproven(['another'])).toEqual([]);
    const change = async (name: string, decision: Decision): Promise<void> => {
      const rows = ['A', 'X', 'M1'].map((id) => row(id, { changed: name }));
      await pullAndMap(fixture.ledger, rows, ({ id }) =>
        items(id === 'M1' ? material('M1', name) : product(text(id), text(id))),
      );
      await deliver({ M1: decision });
    };
    // The answer to a change has the id of its own request, so it does not show whose id it is.
    await change('Another name', delivered(1));
    expect(views.unproven()).toHaveLength(2);
    await change('A third name', { ...delivered(1), by: 'read_back' });
    expect(views.unproven()).toEqual([{ kind: 'product', because: 'assumed_empty', count: 1 }]);
  });
});
