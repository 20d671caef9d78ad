import type { Operation } from '../../../src/domain/delivery/operation.ts';
import type { Fault } from '../world/model-api.ts';
import type { ChangeStep, KeyMode, Setup, Step } from './script.ts';
import type { Walk } from './walk.ts';

const SETUP: Setup = {
  chance: 0,
  halting: false,
  even: true,
  full: true,
  trust: 'publish',
  productUpdate: 'import',
  importAnswer: 'per-row',
  membersMax: 100,
  policy: { init: 'manual', publish: 'manual', withdraw: false },
  pageSize: 100,
  incremental: false,
  recheckBlockedMs: 21_600_000,
};

/** Rows of the model's source. */
const [P1, P2, P3, M1, M2, B1] = [0, 1, 2, 3, 4, 5];

const PULL = { do: 'pull' } as const;
const edit = (row: number, to: 'a' | 'b' | 'c' | 'absent') => ({ do: 'edit', row, to }) as const;
const ask = (status: 'published' | 'unpublished') => ({ do: 'ask', product: 0, status }) as const;
const wait = (ms: number): Step => ({ do: 'wait', ms });
/** Reads the source, and waits until everything is delivered and lost answers were looked up. */
const LOADED: Step[] = [PULL, wait(4000)];
const WHOLE_LIFE = wait(9000);

/** A request, the steps before it, and the ways in which the desired state of its item can change. */
interface Request {
  name: string;
  operation: Operation;
  item: string;
  before: Step[];
  begin: Step[];
  changes: Record<string, ChangeStep[]>;
}

/** The changes of a row that has `from` before the request and `to` in the request. */
function rowChanges(row: number, back: 'a' | null): Record<string, ChangeStep[]> {
  return {
    'something else': [edit(row, 'c'), PULL],
    ...(back === null ? {} : { 'what was there before': [edit(row, back), PULL] }),
    'something else and back': [edit(row, 'c'), PULL, edit(row, back === null ? 'a' : 'b'), PULL],
    'nothing, for a while': [edit(row, 'absent'), PULL, edit(row, 'c'), PULL],
    'something else, and the process dies': [edit(row, 'c'), { do: 'kill' }],
  };
}

function createOf(operation: Operation, item: string, row: number): Request {
  const before = [edit(row, 'absent'), ...LOADED];
  const begin = [edit(row, 'a'), PULL];
  return { name: operation, operation, item, before, begin, changes: rowChanges(row, null) };
}

function updateOf(operation: Operation, item: string, row: number): Request {
  const begin = [edit(row, 'b'), PULL];
  return { name: operation, operation, item, before: LOADED, begin, changes: rowChanges(row, 'a') };
}

/** The first import of changes is a proof, which a list confirms: it is not sent again. Later ones are. */
function updateByProvenImport(item: string, row: number): Request {
  const first = [edit(row, 'c'), PULL, wait(4000), edit(row, 'a'), PULL, wait(4000)];
  const update = updateOf('product.import', item, row);
  return { ...update, name: 'product.import, after a proof', before: [...LOADED, ...first] };
}

const DIES: ChangeStep = { do: 'kill' };

function passportStep(operation: Operation, before: Step[], wanted: 'published' | 'unpublished'): Request {
  const other = wanted === 'published' ? 'unpublished' : 'published';
  return {
    name: operation,
    operation,
    item: 'passport P1',
    before,
    begin: [ask(wanted)],
    changes: {
      'the other status': [ask(other)],
      'the other status and back': [ask(other), ask(wanted)],
      'another content of its product': [edit(P1, 'b'), PULL],
      'the other status, and the process dies': [ask(other), DIES],
    },
  };
}

export const REQUESTS: readonly Request[] = [
  createOf('product.create', 'product P3', P3),
  createOf('material.create', 'material M1', M1),
  createOf('bom_item.create', 'bom_item B1', B1),
  updateOf('material.update', 'material M1', M1),
  updateOf('product.import', 'product P1', P1),
  updateByProvenImport('product P1', P1),
  passportStep('passport.init', LOADED, 'published'),
  passportStep('passport.publish', LOADED, 'published'),
  passportStep('passport.unpublish', [...LOADED, ask('published'), wait(4000)], 'unpublished'),
];

/** How the first sends of a request end. */
const ENDS: Record<string, Fault[]> = {
  'answered at once': [],
  'turned away, then lost after its effect': [
    { at: 'network', fault: { kind: 'front', status: 503 } },
    { at: 'platform', fault: { kind: 'reset-after' } },
  ],
  'lost before its effect': [{ at: 'platform', fault: { kind: 'reset-before' } }],
  'late, and lost': [{ at: 'network', fault: { kind: 'late', lost: 'timeout', ms: 1300 } }],
  'lost twice': [
    { at: 'platform', fault: { kind: 'reset-after' } },
    { at: 'platform', fault: { kind: 'reset-before' } },
  ],
  refused: [{ at: 'network', fault: { kind: 'front', status: 422 } }],
};
/** The request with the most steps: a retry, a lost answer, and the read-back. */
const LONGEST = 'turned away, then lost after its effect';

/** How the platform treats idempotency keys, and what the profile says about them. */
const KEYS: readonly { mode: KeyMode; trust: Setup['trust'] }[] = [
  { mode: 'ignored', trust: 'none' },
  { mode: 'honoured', trust: 'honoured' },
];
type Keys = (typeof KEYS)[number];

function faultsOf(operation: Operation, faults: readonly Fault[]): Step[] {
  return faults.map((fault): Step => ({ do: 'fault', fault: { operation: operation as never, count: 1, ...fault } }));
}

/** A walk with a change of the desired state. */
export interface ChangedWalk {
  walk: Walk;
  change: ChangeStep[];
  /** Whether the change is also tried at calls that only prepare the main ones. */
  everyCall: boolean;
}

function walksOf({ operation, item, before, begin, changes }: Request, end: string, keys: Keys): ChangedWalk[] {
  const { mode, trust } = keys;
  const steps = [...faultsOf(operation, ENDS[end] ?? []), ...begin, WHOLE_LIFE];
  const setup = { ...SETUP, trust };
  return Object.entries(changes).map(([to, change], at) => {
    const everyCall = end === LONGEST && at === 0;
    const name = `${operation} is ${end}, keys are ${mode}, and then ${to} is desired`;
    return { change, everyCall, walk: { name, mode, setup, before, steps, item } };
  });
}

/**
 * All walks of one request: each change in the longest life, and in the other lives one change with and one without the
 * death of the process.
 */
export function allWalksOf(request: Request): ChangedWalk[] {
  return KEYS.flatMap((keys) =>
    Object.keys(ENDS).flatMap((end) => {
      const walks = walksOf(request, end, keys);
      return end === LONGEST ? walks : [...walks.slice(0, 1), ...walks.slice(-1)];
    }),
  );
}

/** The walk through the longest life of a request. BOM items cannot be read back, so the profile trusts their keys. */
export function longestWalkOf(request: Request): ChangedWalk[] {
  const isTrusted = request.operation === 'bom_item.create';
  const keys = KEYS.filter(({ mode }) => isTrusted === (mode === 'honoured'));
  return keys.flatMap((one) => walksOf(request, LONGEST, one).slice(0, 1));
}

const PRODUCTS = [P1, P2, P3];

/** Requests that are claimed and settled together. One of them, the odd request, ends in another way than the others. */
interface Batch {
  name: string;
  keys: Keys;
  before: Step[];
  begin: Step[];
  /** The ways in which the odd request can end, with the steps that lead to each. */
  ends: Record<string, Step[]>;
  /** The row that changes: the row of the odd request, or the row of another request. */
  rows: Record<string, number>;
}

const [IGNORED, HONOURED] = KEYS as [Keys, Keys];

function endsOf(operation: Operation, ...ends: ('lost' | 'refused' | 'crossed')[]): Record<string, Step[]> {
  const faults: Record<(typeof ends)[number], Fault> = {
    lost: { at: 'platform', fault: { kind: 'reset-after' } },
    refused: { at: 'network', fault: { kind: 'front', status: 422 } },
    crossed: { at: 'platform', fault: { kind: 'crossed' } },
  };
  return Object.fromEntries(ends.map((end) => [end, faultsOf(operation, [faults[end]])]));
}

/** Gives a row a content that is at fault itself. */
const flavour = (row: number, to: 'poison' | 'unsendable'): Step[] => [{ do: 'edit', row, to }];

export const BATCHES: readonly Batch[] = [
  {
    name: 'creates of a first load',
    keys: IGNORED,
    before: [],
    begin: [PULL],
    ends: {
      // The first request of a scope is sent alone, so it is another one.
      'not sendable': flavour(P2, 'unsendable'),
      ...endsOf('product.create', 'lost', 'refused', 'crossed'),
      'at fault': flavour(P2, 'poison'),
    },
    rows: { 'product P3': P3, 'product P2': P2, 'material M1': M1 },
  },
  {
    name: 'changes of materials',
    keys: IGNORED,
    before: LOADED,
    begin: [edit(M1, 'b'), edit(M2, 'b'), PULL],
    ends: endsOf('material.update', 'crossed', 'lost', 'refused'),
    rows: { 'material M1': M1, 'material M2': M2 },
  },
  {
    name: 'one bulk import',
    keys: IGNORED,
    before: LOADED,
    begin: [...PRODUCTS.map((row) => edit(row, 'b')), PULL],
    ends: endsOf('product.import', 'lost', 'refused'),
    rows: { 'product P1': P1, 'product P3': P3 },
  },
  {
    name: 'one bulk import with a member at fault',
    keys: IGNORED,
    before: LOADED,
    begin: [edit(P1, 'b'), edit(P3, 'b'), PULL],
    ends: { 'not sendable': flavour(P2, 'unsendable'), 'at fault': flavour(P2, 'poison') },
    rows: { 'product P1': P1, 'product P2': P2 },
  },
  {
    name: 'BOM items',
    keys: HONOURED,
    before: [edit(B1, 'absent'), edit(B1 + 1, 'absent'), edit(B1 + 2, 'absent'), ...LOADED],
    begin: [edit(B1, 'a'), edit(B1 + 1, 'a'), edit(B1 + 2, 'a'), PULL],
    ends: endsOf('bom_item.create', 'refused', 'lost'),
    rows: { 'bom_item B1': B1, 'bom_item B2': B1 + 1 },
  },
];

/** The walks for every end of one request and every row that changes. `npm run test:slow` plays the first one. */
export function walksOfBatch({ name, keys, before, begin, ends, rows }: Batch): ChangedWalk[] {
  const setup = { ...SETUP, trust: keys.trust };
  return Object.entries(ends).flatMap(([end, steps]) =>
    Object.entries(rows).map(([item, row]) => ({
      change: [edit(row, 'c'), PULL],
      everyCall: true,
      walk: {
        name: `${name}: one of them is ${end}, and ${item} changes`,
        mode: keys.mode,
        setup,
        before,
        steps: [...steps, ...begin, WHOLE_LIFE],
        item,
      },
    })),
  );
}
