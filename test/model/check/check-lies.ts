import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import type { UnprovenCause } from '../../../src/domain/delivery/outcome.ts';
import type { Item } from '../../../src/domain/item.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import type { LieName } from '../../../src/sandbox/lies/lies.ts';
import type { Setup } from '../script/script.ts';
import type { ModelApi } from '../world/model-api.ts';
import type { ModelSource } from '../world/model-source.ts';
import type { Effect } from '../world/reporting-operations.ts';
import { type ItemState, readItems, showsPayload } from './check.ts';

/**
 * Compares the item that a write has changed with the item for which it was sent. Returns what is wrong: with a wrong id
 * the passport of another product is published, or another material is changed.
 */
export function wrongItem(
  { operation, path }: Effect,
  sentFor: readonly string[],
  { api, file }: { api: ModelApi; file: string },
): string[] {
  const id = /^\/api\/(?:dpp|materials)\/([^/]+)\//.exec(path)?.[1];
  if (id === undefined) return [];
  const list = operation.startsWith('passport.') ? api.products() : api.materials();
  const changed = list.find((one) => String(one['id'] as string | number) === id);
  const name = String((changed?.['sku'] ?? changed?.['code'] ?? 'nothing') as string);
  return sentFor.flatMap((item) => {
    const [kind, key = ''] = item.split(' ');
    if (name === `S-${key}` || name === `C-${key}`) return [];
    const owner = kind === 'material' ? kind : 'product';
    const isCounted = readItems(file).some((one) => one.kind === owner && one.key === key && one.unproven !== null);
    return isCounted ? [] : [`${operation} for ${item} has changed ${name}.`];
  });
}

/**
 * Checks what must be true at the end of a run against a lying platform: BOM items and passports belong to the right
 * products, nothing is doubled beyond the proofs of imports, and what the ledger has as delivered is at the platform.
 */
export function checkLies(
  file: string,
  { api, source, setup, isCalm }: { api: ModelApi; source: ModelSource; setup: Setup; isCalm: boolean },
): string[] {
  const { lies: told, closed = null } = setup.platform ?? {};
  const lies = new Set(told);
  const items = readItems(file);
  return [
    ...misplacedBomItems(api, source.items(), items),
    ...wronglyTaken(items, setup),
    ...doubles(api, lies, setup),
    ...falselyDelivered(items, { api, source, lies, setup }),
    ...(lies.size === 0 && isCalm && closed === null ? held(items) : []),
  ];
}

const nameOf = (one: JsonObject | undefined): JsonValue => one?.['sku'] ?? one?.['code'] ?? null;

/** Writes that were taken without proof although the config, the profile and the lists do not allow it. */
function wronglyTaken(items: readonly ItemState[], { platform }: Setup): string[] {
  const { withoutProof = 'hold', assumesEmpty = false, closed = null } = platform ?? {};
  const isAllowed: Record<UnprovenCause, boolean> = {
    accepted: withoutProof === 'accept',
    assumed_empty: assumesEmpty,
    unlisted: closed !== null,
  };
  return items.flatMap(({ kind, key, unproven }) =>
    unproven === null || isAllowed[unproven] ? [] : [`${kind} ${key} is taken without proof (${unproven}).`],
  );
}

function misplacedBomItems(api: ModelApi, wanted: readonly Item[], items: readonly ItemState[]): string[] {
  const [products, materials] = [api.products(), api.materials()];
  return api.bomItems().flatMap((made) => {
    const key = made['position'];
    const item = wanted.find((one) => one.kind === 'bom_item' && one.key === key);
    if (!item) return [];
    return item.refs.flatMap(({ role, kind, key: ref }) => {
      const at = (kind === 'product' ? products : materials).find(({ id }) => id === made[role]);
      const expected = kind === 'product' ? `S-${ref}` : `C-${ref}`;
      const isCounted = items.some((one) => one.kind === kind && one.key === ref && one.unproven !== null);
      return nameOf(at) === expected || isCounted
        ? []
        : [`BOM item ${item.key} has ${JSON.stringify(nameOf(at))} as its ${role}.`];
    });
  });
}

/** The operations of which the ledger knows that the answers have repeated what was sent. */
export function readEchoes(file: string): ReadonlySet<string> {
  const db = new Database(file, { readonly: true });
  try {
    const text = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'echoes'").pluck().get();
    return new Set((JSON.parse(text ?? '{}') as { operations?: string[] }).operations);
  } finally {
    db.close();
  }
}

/**
 * How many products may be doubled before the proofs of imports show it. A process that dies amid a proof leaves the rest of
 * it to the next process, so deaths change nothing.
 */
function doublesMax(lies: ReadonlySet<LieName>, { membersMax }: Setup): number {
  const known = lies.has('product.import:doubles-known') ? 1 : 0;
  // The first proof has one product, and the second one at most ten.
  const fromTwo = lies.has('product.import:doubles-from-two') ? Math.min(membersMax, 10) : 0;
  return known + fromTwo;
}

function doubles(api: ModelApi, lies: ReadonlySet<LieName>, setup: Setup): string[] {
  const extra = (list: JsonObject[], name: string): number => {
    const own = list.filter((one) => !String(one[name] as string).startsWith('F-'));
    return own.length - new Set(own.map((one) => one[name])).size;
  };
  const products = extra(api.products(), 'sku');
  const live = api.publications().filter(({ status }) => status === 'published');
  return [
    ...(products > doublesMax(lies, setup) ? [`${products} products are doubled.`] : []),
    ...(extra(api.materials(), 'code') > 0 ? ['A material is doubled.'] : []),
    ...(extra(api.bomItems(), 'position') > 0 ? ['A BOM item is doubled.'] : []),
    ...(extra(live, 'product') > 0 ? ['A product has two live publications.'] : []),
  ];
}

/** The items that an honest platform has got and that are not delivered. A script without faults has no reason for them. */
function held(items: readonly ItemState[]): string[] {
  return items.flatMap(({ kind, key, open }) => {
    // A passport needs a complete product, and a BOM item its product and part.
    const isExplained = kind === 'passport' || open?.state === 'waiting' || open?.reason?.code === 'unsupported';
    if (open === null || isExplained) return [];
    return [`${kind} ${key} of an honest platform is ${open.state}: ${open.reason?.message ?? 'no reason'}`];
  });
}

interface Compared {
  api: ModelApi;
  source: ModelSource;
  lies: ReadonlySet<LieName>;
  setup: Setup;
}

/** The items that the ledger has as delivered, and that the platform does not have in this way. */
function falselyDelivered(items: readonly ItemState[], compared: Compared): string[] {
  return items.flatMap((item) => {
    if (item.open !== null || item.baseline === null) return [];
    if (isCounted(item, items) || mayBeUnseen(item, compared)) return [];
    const problem = differenceOf(item, items, compared);
    return problem === null ? [] : [`${item.kind} ${item.key} counts as delivered: ${problem}`];
  });
}

/** Whether `status` counts the item, or the product of a passport, among those that were taken without proof. */
function isCounted({ kind, key, unproven }: ItemState, items: readonly ItemState[]): boolean {
  if (unproven !== null) return true;
  return kind === 'passport' && items.some((one) => one.kind === 'product' && one.key === key && one.unproven !== null);
}

/**
 * Whether no answer and no list shows that an item differs. No list has BOM items or passports that are not published,
 * and none is read after a change of a material. A bare 2xx to such a write is believed if the platform has never
 * repeated what was sent.
 */
function mayBeUnseen({ kind, baseline }: ItemState, { api, lies, setup }: Compared): boolean {
  const { answers = {}, ids } = setup.platform ?? {};
  const isBare = (operation: 'bom_item.create' | 'material.update' | 'passport.init'): boolean =>
    answers[operation] === 'empty' || answers[operation] === 'location';
  switch (kind) {
    case 'product':
      return false;
    case 'material':
      if (api.echoed.has('material.update')) return false;
      return (
        (lies.has('material.update:changes-nothing') && answers['material.update'] !== 'full') ||
        (lies.has('material.update:success-false') && isBare('material.update'))
      );
    case 'bom_item': {
      if (api.echoed.has('bom_item.create')) return false;
      const answer = answers['bom_item.create'];
      // Only a UUID belongs to one item of all kinds.
      const isShown = answer === 'full' || (answer === 'id' && ids === 'uuid');
      return (
        lies.has('bom_item.create:ignored') ||
        (lies.has('bom_item.create:not-made') && !isShown) ||
        (lies.has('bom_item.create:success-false') && isBare('bom_item.create'))
      );
    }
    case 'passport':
      // The second conflict counts as the answer that the passport exists. If it does not, its publication fails.
      return (
        baseline?.['status'] === 'initialized' &&
        (lies.has('passport.init:refuses-always') ||
          (lies.has('passport.init:success-false') && isBare('passport.init')))
      );
  }
}

function differenceOf(item: ItemState, items: readonly ItemState[], { api, source }: Compared): string | null {
  const { kind, key, remoteId, baseline } = item;
  if (kind === 'bom_item') {
    const made = api.bomItems().find(({ position }) => position === key);
    return made ? contentOf(made, baseline) : 'it is not at the platform.';
  }
  if (kind === 'passport') {
    const product = items.find((one) => one.kind === 'product' && one.key === key);
    const passport = api.passports().find((one) => one['product'] === product?.remoteId);
    const [status, acknowledged] = [passport?.['status'] ?? 'none', baseline?.['status'] ?? 'none'];
    return status === acknowledged ? null : `it is ${String(status as string)}, not ${String(acknowledged as string)}.`;
  }
  const list = kind === 'product' ? api.products() : api.materials();
  const remote = list.find(({ id }) => isDeepStrictEqual(id, remoteId));
  if (!remote) return `no ${kind} has the id ${JSON.stringify(remoteId)}.`;
  const expected = kind === 'product' ? `S-${key}` : `C-${key}`;
  if (nameOf(remote) !== expected) return `its id belongs to ${JSON.stringify(nameOf(remote))}.`;
  const isWanted = source.items().some((one) => one.kind === kind && one.key === key);
  return isWanted ? contentOf(remote, baseline) : null;
}

function contentOf(remote: JsonObject, baseline: JsonObject | null): string | null {
  if (baseline === null || showsPayload(remote, baseline)) return null;
  return `the platform has ${JSON.stringify(remote)} and the ledger ${JSON.stringify(baseline)}.`;
}
