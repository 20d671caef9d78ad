import { transition } from '../../../domain/delivery/delivery.ts';
import { type Operation } from '../../../domain/delivery/operation.ts';
import type { ClaimedRequest, Encode, ToClaim } from '../../../domain/ports/claim.ts';
import type { Contact } from '../../contact/contact.ts';
import type { Items } from '../../items/items.ts';
import type { FormId } from '../../items/wire-forms.ts';
import type { Passports } from '../../passports/passports.ts';
import type { LedgerContext } from '../../store/context.ts';
import { claimedDelivery, type DeliveryRow, SELECT_LISTED_DELIVERIES } from '../delivery-row.ts';
import type { ProofsOfImports } from './import-proof.ts';
import type { Imports } from './imports.ts';
import { createNewRequests } from './new-requests.ts';
import type { RequestRow, Requests } from './requests.ts';

/** Steps of a passport that need a complete product. */
const ASKS_FOR_COMPLETENESS: ReadonlySet<Operation> = new Set(['passport.init', 'passport.publish']);

interface ClaimsParts {
  requests: Requests;
  imports: Imports;
  importProofs: Pick<ProofsOfImports, 'changesMax'>;
  items: Pick<Items, 'block'>;
  passports: Pick<Passports, 'takeBackUnlessWanted'>;
  contact: Pick<Contact, 'suspendedCreates'>;
}

/** Marks due deliveries as sending, with few statements for all of them. Run it as one transaction. */
export function createClaims(
  context: Pick<LedgerContext, 'db' | 'clock' | 'epoch' | 'target' | 'forms'>,
  { requests, imports, importProofs, items, passports, contact }: ClaimsParts,
  encode: Encode,
): { claim(lists: readonly ToClaim[]): ClaimedRequest[] } {
  const { db, clock, forms } = context;
  const newRequests = createNewRequests(context, encode);
  const sql = {
    rows: db.prepare<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES),
    wait: db.prepare<[string, string]>('UPDATE items SET state = ? WHERE id IN (SELECT value FROM json_each(?))'),
    send: db.prepare<[{ state: string; now: number; members: string }]>(
      `UPDATE items SET state = @state, sent_at = @now, due_at = 0, request_id = m.request, request_place = m.place,
         sent_form = m.form
       FROM (SELECT value ->> 0 AS id, value ->> 1 AS request, value ->> 2 AS place, value ->> 3 AS form
             FROM json_each(@members)) m
       WHERE items.id = m.id`,
    ),
  };

  /**
   * The deliveries of the lists that may be claimed: due under the named revision, not suspended, and named for the
   * first time.
   */
  function claimable(lists: readonly ToClaim[]): DeliveryRow[][] {
    const named = sql.rows.all(JSON.stringify(lists.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))));
    const rows = new Map(named.map((row) => [row.id, row]));
    const suspended = new Set(contact.suspendedCreates());
    const now = clock.now();
    return lists.map(({ deliveries }) =>
      deliveries.flatMap(({ id, revision }) => {
        const row = rows.get(id);
        rows.delete(id);
        const isDue = row?.state === 'due' && row.revision === revision && row.dueAt <= now;
        // A create is compared with the platform's list before it is sent for the first time.
        return isDue && !suspended.has(row.operation) && !isTakenBack(row) ? [row] : [];
      }),
    );
  }

  /**
   * True if the write of a passport was taken back because its product is not complete any more. False for a
   * withdrawal, because it needs no complete product, and for an uncertain write, because its result has to be found
   * out.
   */
  function isTakenBack({ id, operation, uncertain }: DeliveryRow): boolean {
    return ASKS_FOR_COMPLETENESS.has(operation) && uncertain === 0 && passports.takeBackUnlessWanted(id);
  }

  function claim(lists: readonly ToClaim[]): ClaimedRequest[] {
    const due = claimable(lists);
    const refs = newRequests.refsOf(due.flat());
    const claimed: ClaimedRequest[] = [];
    const fresh: RequestRow[] = [];
    const kept: number[] = [];
    const waiting: number[] = [];
    const members: Member[] = [];
    const inImports = new Set<number>();
    const firstId = requests.nextId();

    const add = (request: RequestRow, isKept: boolean, rows: readonly DeliveryRow[]): void => {
      const { id, operation, idempotencyKey: key, path, body } = request;
      const sends = request.sends + 1;
      if (isKept) kept.push(id);
      else fresh.push({ ...request, sends });
      const isImport = operation === 'product.import';
      rows.forEach((row, place) => {
        // The bytes of a kept request do not change, and nor does their form.
        const form = isKept ? row.sentForm : forms.presentOf(row.kind);
        members.push([row.id, id, isImport ? place : null, form]);
      });
      const taken = rows.map((row) => (isImport ? imports.claimedMember(row, isKept) : claimedDelivery(row)));
      claimed.push({ request: id, sends, operation, path, body, idempotencyKey: key, members: taken });
    };

    const addSingle = (row: DeliveryRow): void => {
      const found = keptRequest(row);
      const pointed = refs(row);
      if (found !== null) add(found, true, [row]);
      else if (pointed !== null) add(newRequests.make(row, pointed, firstId + fresh.length), false, [row]);
      else waiting.push(row.id);
    };
    const addChanged = (list: readonly DeliveryRow[]): void => {
      const { countMax, blocked } = importProofs.changesMax();
      if (blocked !== null) for (const { id, uncertain } of list) if (uncertain === 0) items.block(id, blocked);
      // A write that may have arrived is not blocked, because its result has to be found out. An import that is sent
      // again unchanged may have members that another list names.
      const left = list.filter(({ id, uncertain }) => !inImports.has(id) && (uncertain === 1 || blocked === null));
      const gathered = imports.gather(left, firstId + fresh.length, countMax);
      for (const { id } of gathered?.rows ?? []) inImports.add(id);
      if (gathered !== null) add(gathered.request, gathered.isKept, gathered.rows);
    };
    const addNew = (first: DeliveryRow, others: readonly DeliveryRow[]): void => {
      const gathered = imports.gatherNew([first, ...others], firstId + fresh.length);
      if (gathered === null) addSingle(first);
      else add(gathered.request, false, gathered.rows);
    };

    due.forEach((list, at) => {
      const [first, ...others] = list;
      if (first === undefined) return;
      const same = others.filter(({ operation }) => operation === first.operation);
      if (first.operation === 'product.import') addChanged([first, ...same]);
      else if (lists[at]?.asImport === true) addNew(first, same);
      else for (const row of list) addSingle(row);
    });
    store({ fresh, kept, waiting, members });
    return claimed;
  }

  /** I2: stores path, bytes and key before the first byte is sent. They never change afterwards. */
  function store(claimed: Claimed): void {
    const now = clock.now();
    requests.insert(claimed.fresh, now);
    requests.claimAgain(claimed.kept, now);
    const { waiting, members } = claimed;
    if (waiting.length > 0) sql.wait.run(transition('due', 'refs_missing'), JSON.stringify(waiting));
    if (members.length > 0) sql.send.run({ state: transition('due', 'claim'), now, members: JSON.stringify(members) });
  }

  return { claim };
}

interface Claimed {
  fresh: readonly RequestRow[];
  kept: readonly number[];
  waiting: readonly number[];
  members: readonly Member[];
}

type Member = readonly [id: number, request: number, place: number | null, form: FormId];

/** The earlier request of a delivery, whose bytes are sent again; null if there is none. */
function keptRequest({ requestId, operation, idempotencyKey: key, path, body, sends }: DeliveryRow): RequestRow | null {
  if (requestId === null || key === null || path === null || sends === null) return null;
  return { id: requestId, operation, idempotencyKey: key, path, body, sends };
}
