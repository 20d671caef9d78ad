import { createPassports } from '../../delivery/passports.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { actionOf, fieldChanges, type PlannedItem } from '../../domain/plan.ts';
import type {
  ClaimedDelivery,
  DueDelivery,
  IntendedWrite,
  NewClaim,
  SuspendedWork,
} from '../../domain/ports/deliveries.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { Rehearsal } from './rehearsal.ts';

/** What the accepted writes need besides their own requests. */
interface Accepted {
  /** How many requests are sent for a single item. */
  alone: number;
  /** The lists that a sync reads before it creates items. */
  lists: ReadonlySet<ListableKind>;
}

/** Products are sent in imports, whose number is estimated. */
const IN_IMPORTS: ReadonlySet<Operation> = new Set(['product.create', 'product.import']);
/** The ids that an accepted create gets begin with this text. */
const PLANNED_ID = 'planned-';
const isPlannedId = (id: JsonValue): boolean => typeof id === 'string' && id.startsWith(PLANNED_ID);
const CREATES: ReadonlyMap<Operation, ListableKind> = new Map([
  ['product.create', 'product'],
  ['material.create', 'material'],
]);

/**
 * Accepts the deliveries of a rehearsal in the place of the platform, until none is due. Each write has all its effects in the
 * ledger, so the writes that follow from it become due: BOM items after their products, passports after their parts.
 */
export function createAcceptance(
  { ledger, clock }: Rehearsal,
  { suspended, page }: { suspended: SuspendedWork; page: number },
) {
  /** The kinds of which only a list of the platform shows whether new items are there already. */
  const unlisted = new Set<ListableKind>();
  /** The products whose public passports were reported. */
  const differing = new Set<number>();
  const passports = createPassports({ ledger, now: () => clock.ticks() });
  let lastId = 0;

  /** A sync would read these lists. The rehearsal goes on as if they were empty. */
  async function passFirstContact(): Promise<void> {
    for (const kind of await ledger.unprovenKinds()) {
      unlisted.add(kind);
      await ledger.endProof(kind);
    }
    for (const { kind } of await ledger.contactSteps()) {
      unlisted.add(kind);
      await ledger.beginListing(kind);
      await ledger.endListing({ list: kind, count: null });
      await ledger.compareListed(kind);
    }
  }

  /** True for a create if the platform may have the item: a new item of a kind that was not listed, or a part of such a product. */
  function mayBeThere({ operation }: ClaimedDelivery, { refs }: IntendedWrite): boolean {
    const created = CREATES.get(operation);
    if (created !== undefined) return unlisted.has(created);
    if (operation !== 'bom_item.create' || !unlisted.has('product')) return false;
    return refs.some(({ role, remoteId }) => role === 'product' && isPlannedId(remoteId));
  }

  function itemOf(delivery: ClaimedDelivery, write: IntendedWrite): PlannedItem {
    const { kind, key, naturalKey, source, operation, revision } = delivery;
    const { desired, before } = write;
    const refs = write.refs.map(({ role, kind: of, key: to }) => ({ role, kind: of, key: to }));
    const action = mayBeThere(delivery, write) ? 'create_or_adopt' : actionOf(operation);
    return {
      action,
      kind,
      key,
      naturalKey,
      source,
      revision,
      fields: fieldChanges(before, desired),
      ...(kind === 'bom_item' ? { refs } : {}),
      ...(action === 'prepare' || action === 'publish' ? { gate: 'unknown' as const } : {}),
    };
  }

  /** The public passports that these writes change, each once. */
  async function differs(members: readonly ClaimedDelivery[]): Promise<PlannedItem[]> {
    const ids = members.filter(({ kind }) => kind !== 'passport').map(({ id }) => id);
    if (ids.length === 0) return [];
    // A passport that only the plan has published is not public yet.
    const found = (await ledger.publicProductsOf(ids)).filter(
      ({ id, passportId }) => !differing.has(id) && !isPlannedId(passportId),
    );
    return found.map(({ id, key, naturalKey, source }) => {
      differing.add(id);
      return { action: 'differs', kind: 'passport', key, naturalKey, source, fields: {} };
    });
  }

  async function accept(claims: readonly NewClaim[], report: (items: PlannedItem[]) => Promise<void>): Promise<number> {
    const members = claims.flatMap((claim) => claim.members);
    const intended = await ledger.intendedWrites(members.map(({ id }) => id));
    const items = members.flatMap((member) => {
      const write = intended.get(member.id);
      return write === undefined ? [] : [itemOf(member, write)];
    });
    await report([...items, ...(await differs(members))]);
    await ledger.settle(
      claims.map(({ request, sends, members: ofRequest }) => ({
        claim: { request, sends },
        settlements: ofRequest.map(({ id, revision, remoteId }) => {
          lastId += 1;
          const given = remoteId ?? `${PLANNED_ID}${lastId}`;
          return { id, revision, decision: { kind: 'delivered', remoteId: given, contentKnown: true, by: 'answer' } };
        }),
        keep: false,
        groupMax: null,
      })),
    );
    return members.filter(({ operation }) => !IN_IMPORTS.has(operation)).length;
  }

  /** Accepts each delivery that is due, once. Returns how many were accepted, and how many of them alone. */
  async function acceptDue(
    report: (items: PlannedItem[]) => Promise<void>,
    abort: AbortSignal,
  ): Promise<{ accepted: number; alone: number }> {
    const sum = { accepted: 0, alone: 0 };
    let afterId = 0;
    while (!abort.aborted) {
      const due: DueDelivery[] = await ledger.dueDeliveries({ afterId, limit: page, suspended });
      // A changed product is always sent in an import. Each has an import of its own here, so that one claim takes all of them.
      const claims = await ledger.claim(due.map((delivery) => ({ deliveries: [delivery], asImport: false })));
      sum.accepted += claims.length;
      if (claims.length > 0) sum.alone += await accept(claims, report);
      const last = due.at(-1);
      if (last === undefined || due.length < page) break;
      afterId = last.id;
    }
    return sum;
  }

  return {
    /**
     * @param report gets the planned items, some hundred at once
     * @param abort ends it
     * @param evaluates false to leave passports as they are, because the rules for them may have changed
     */
    async acceptAll(
      report: (items: PlannedItem[]) => Promise<void>,
      abort: AbortSignal,
      { evaluates = true } = {},
    ): Promise<Accepted> {
      let alone = 0;
      while (!abort.aborted) {
        await passFirstContact();
        const accepted = await acceptDue(report, abort);
        alone += accepted.alone;
        if (evaluates) passports.markDirty();
        const staged = evaluates ? await passports.evaluate() : 0;
        if (accepted.accepted > 0 || staged > 0) continue;
        // A sync would wait for these.
        const at = await ledger.nextDueAt({ suspended });
        if (at === null || at <= clock.now()) break;
        clock.advanceTo(at);
      }
      return { alone, lists: unlisted };
    },
  };
}
