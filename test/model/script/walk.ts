// Walks through the life of a request. A script is played once, and the calls of its process are recorded. Then the
// script is played again for each of these calls, with a change of the desired state at that call.

import { canonicalJson, type JsonObject } from '../../../src/lib/json.ts';
import { type ItemState, showsPayload } from '../check/check.ts';
import type { CallPoint } from '../world/fence.ts';
import type { ModelApi } from '../world/model-api.ts';
import { type ObservedCall, runScript } from './run-script.ts';
import type { ChangeStep, KeyMode, Script, Setup, Step } from './script.ts';

/** A request whose life is walked through. */
export interface Walk {
  name: string;
  mode: KeyMode;
  setup: Setup;
  /** The steps before the walk. */
  before: readonly Step[];
  /** The steps at the beginning and at the end. */
  steps: readonly Step[];
  /** Kind and key of the item that the request writes. */
  item: string;
}

/** How far the request of the item was when the desired state changed. */
export type Phase =
  | 'not staged yet'
  | 'waiting for a ref'
  | 'due'
  | 'in the commit of its claim'
  | 'claimed'
  | 'sent'
  | 'answered'
  | 'in the commit of its settlement'
  | 'waiting for a retry'
  | 'unconfirmed'
  | 'being read back'
  | 'read back'
  | 'in the commit of its read-back'
  | 'waiting to be sent again'
  | 'sent again'
  | 'stuck'
  | 'over';

/** One play of a walk. */
export interface Played {
  script: Script;
  /** Null if the point was never reached. */
  phase: Phase | null;
  /** The most requests that one commit claimed, and the most requests that one commit settled. */
  claimedAtOnce: number;
  settledAtOnce: number;
  breaches: string[];
}

/** Calls that write deliveries to the ledger. */
const WRITES = ['claim', 'settle'];
/** The calls in the life of a delivery. */
const MAIN = [...WRITES, 'exchange'];
/** Calls that lead to those calls. */
const OTHERS = ['unconfirmedDeliveries', 'stagePage', 'evaluatePassports', 'deadLetter', 'enqueue', 'dueDeliveries'];

function scriptOf({ setup, before, steps }: Walk, point: CallPoint, change: readonly ChangeStep[]): Script {
  return { setup, steps: [...before, { do: 'change at', point, steps: [...change] }, ...steps] };
}

/**
 * The points of a walk: each call from its beginning to the last settlement, on all of its sides.
 *
 * @param full whether calls that only lead to a claim, a request or a settlement count too
 */
export async function pointsOf(walk: Walk, full: boolean): Promise<CallPoint[]> {
  let names: string[] = [];
  let played: string[] = [];
  const never: CallPoint = { names: [], calls: 0, side: 'before' };
  const breaches = await runScript(
    walk.mode,
    scriptOf(walk, never, []),
    { reach: () => undefined },
    {
      planned: () => void (names = []),
      called: ({ name }) => void names.push(name),
      played: () => void (played = [...names]),
    },
  );
  if (breaches.length > 0) throw new Error(`${walk.name}: ${breaches.join('\n')}`);
  return points(played, full ? [...MAIN, ...OTHERS] : MAIN);
}

function points(called: readonly string[], counted: readonly string[]): CallPoint[] {
  const names = called.slice(0, called.lastIndexOf('settle') + 1);
  const found: CallPoint[] = [];
  const counts = new Map<string, number>();
  for (const name of names) {
    if (!counted.includes(name)) continue;
    const calls = counts.get(name) ?? 0;
    counts.set(name, calls + 1);
    const add = (...sides: CallPoint['side'][]): void => {
      for (const side of sides) found.push({ names: [name], calls, side });
    };
    add('before', 'after');
    if (name === 'exchange') add('beside');
    if (WRITES.includes(name)) add('first in the same commit', 'last in the same commit');
  }
  return found;
}

/** Plays a walk, with a change of the desired state at one of its points. */
export async function playAt(walk: Walk, point: CallPoint, change: readonly ChangeStep[]): Promise<Played> {
  const script = scriptOf(walk, point, change);
  const asked = new Map<string, 'published' | 'unpublished'>();
  let chosen: ObservedCall | null = null;
  let phase: Phase | null = null;
  const atOnce = { claim: 0, settle: 0 };
  const breaches = await runScript(
    walk.mode,
    script,
    { reach: () => undefined },
    {
      called(call) {
        if (call.isChosen) chosen = call;
        const { name, given } = call;
        if (name === 'claim' || name === 'settle')
          atOnce[name] = Math.max(atOnce[name], (given[0] as unknown[]).length);
      },
      changing(items) {
        const item = items.find(({ kind, key }) => `${kind} ${key}` === walk.item);
        if (chosen !== null) phase = phaseOf(item, chosen, point.side);
      },
      asked: (product, status) => void asked.set(product, status),
      ended: ({ items, api, source }) => [
        ...source.items().flatMap(({ kind, key, payload }) => {
          const item = items.find((one) => one.kind === kind && one.key === key);
          return item === undefined ? [`${kind} ${key} is not in the ledger.`] : atPlatform(item, payload, api);
        }),
        ...Array.from(asked).flatMap(([product, status]) => passportAt(product, status, items, api)),
      ],
    },
  );
  return { script, phase, claimedAtOnce: atOnce.claim, settledAtOnce: atOnce.settle, breaches };
}

function phaseOf(item: ItemState | undefined, { name, given }: ObservedCall, side: CallPoint['side']): Phase {
  if (item === undefined) return 'not staged yet';
  const { open } = item;
  if (open === null) return item.baseline === null ? 'not staged yet' : 'over';
  const isTogether = side.endsWith('in the same commit');
  const isRead = name === 'exchange' && (given[0] as { method: string }).method === 'GET';
  switch (open.state) {
    case 'waiting':
      return 'waiting for a ref';
    case 'due':
      if (open.uncertain) return 'waiting to be sent again';
      if (open.dueAt > 0 || open.attempts > 0) return 'waiting for a retry';
      return isTogether && name === 'claim' ? 'in the commit of its claim' : 'due';
    case 'sending':
      if (isTogether && name === 'settle') return 'in the commit of its settlement';
      if (name === 'settle' || (name === 'exchange' && !isRead && side === 'after')) return 'answered';
      if (open.uncertain) return 'sent again';
      return name === 'exchange' && side === 'beside' ? 'sent' : 'claimed';
    case 'in_doubt':
      if (isTogether && name === 'settle') return 'in the commit of its read-back';
      if (isRead) return 'being read back';
      return name === 'settle' && side === 'before' ? 'read back' : 'unconfirmed';
    case 'blocked':
    case 'rejected':
    case 'parked':
      return 'stuck';
    case 'delivered':
    case 'superseded':
      return 'over';
  }
}

/** The API has no write for these changes. */
const HOPELESS: ReadonlySet<string> = new Set(['unsupported', 'renamed']);

/** Checks that the platform has the item once, with the desired content, and that the ledger agrees. */
function atPlatform(item: ItemState, payload: JsonObject, api: ModelApi): string[] {
  const name = `${item.kind} ${item.key}`;
  const { open, baseline } = item;
  const isHopeless = open?.state === 'blocked' && HOPELESS.has(open.reason?.code ?? '');
  if (open !== null && !isHopeless) return [`${name} is ${open.state}: ${open.reason?.message ?? 'no reason'}`];
  const wanted = isHopeless ? baseline : payload;
  if (wanted === null) return [`${name} is ${open?.state ?? 'over'}, and the platform has nothing of it.`];
  const field = item.kind === 'product' ? 'sku' : item.kind === 'material' ? 'code' : 'position';
  const list = item.kind === 'product' ? api.products() : item.kind === 'material' ? api.materials() : api.bomItems();
  const found = list.filter((one) => one[field] === wanted[field]);
  const [only] = found;
  if (found.length !== 1 || only === undefined) return [`${name} is at the platform ${found.length} times.`];
  const problems: string[] = [];
  if (!showsPayload(only, wanted))
    problems.push(`${name} is ${canonicalJson(only)} there, not ${canonicalJson(wanted)}.`);
  if (only['id'] !== item.remoteId) problems.push(`${name} is bound to ${canonicalJson(item.remoteId)}.`);
  if (!isHopeless && item.baselineHash !== item.desiredHash) problems.push(`${name} is not acknowledged as desired.`);
  return problems;
}

/** Checks that the passport has the status that was asked for last. */
function passportAt(
  key: string,
  status: 'published' | 'unpublished',
  items: readonly ItemState[],
  api: ModelApi,
): string[] {
  const product = items.find((one) => one.kind === 'product' && one.key === key);
  const open = items.find((one) => one.kind === 'passport' && one.key === key)?.open ?? null;
  if (open !== null) return [`The passport of ${key} is ${open.state}: ${open.reason?.message ?? 'no reason'}`];
  const live = api
    .publications()
    .filter((one) => one['product'] === product?.remoteId && one['status'] === 'published');
  const wanted = status === 'published' ? 1 : 0;
  if (live.length === wanted) return [];
  return [`The passport of ${key} is to be ${status}, and ${live.length} publications of it are public.`];
}
