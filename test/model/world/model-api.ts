import type { Exchange, Transport } from '../../../src/api/transport.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { ENDPOINTS, OPERATION_NAMES, type OperationName } from '../../../src/sandbox/api/endpoints.ts';
import { type Answer, NOT_FOUND, type Operation, refusal } from '../../../src/sandbox/api/operation.ts';
import { createFaults, type FaultRule } from '../../../src/sandbox/faults/faults.ts';
import {
  COLUMNS,
  type Collection,
  createIdScheme,
  createMemoryCollection,
  present,
} from '../../../src/sandbox/items/collection.ts';
import type { Operations } from '../../../src/sandbox/lies/lie.ts';
import { type LieName, withLies } from '../../../src/sandbox/lies/lies.ts';
import { UNSET_PRODUCT } from '../../../src/sandbox/operations/items.ts';
import { createLateImports } from '../../../src/sandbox/operations/product-import.ts';
import { createOperations } from '../../../src/sandbox/operations.ts';
import { createProcessor } from '../../../src/sandbox/server/processor.ts';
import { createStyle, withRequestEnvelope } from '../../../src/sandbox/server/style.ts';
import { type SandboxOptions, SandboxSettings } from '../../../src/sandbox/settings/settings.ts';
import { createIdempotencyStore, createMemoryIdempotencyRecords } from '../../../src/sandbox/storage/idempotency.ts';
import type { VirtualTime } from '../../support/time/virtual-time.ts';
import type { Witness } from '../check/witness.ts';
import type { Platform } from '../script/script.ts';
import { createOutages, type Outage } from './outage.ts';
import { createReportingOperations, entitiesOf, ORGANIZATION } from './reporting-operations.ts';

/** The text of a 503 of a proxy, which proves that the platform did not get the request. */
export const TURNED_AWAY = 'no healthy upstream';

/** Faults between the process and the platform. The sandbox has its own faults for the platform itself. */
export type NetworkFault =
  /** The connection is refused: nothing was sent. */
  | { kind: 'refused' }
  /** A proxy answers instead of the platform. */
  | { kind: 'front'; status: number; retryAfterSeconds?: number }
  /** The platform answers late. By then the client has given up, or its connection is lost. */
  | { kind: 'late'; ms: number; lost: 'timeout' | 'reset' };

export type Fault = { at: 'network'; fault: NetworkFault } | { at: 'platform'; fault: Distribute<FaultRule> };
export type ApiFault = { operation: OperationName | '*'; count: number } & Fault;
/** A fault rule without its operation. */
type Distribute<Rule> = Rule extends FaultRule
  ? Omit<Rule, 'operation' | 'count' | 'skip' | 'match' | 'probability' | 'seed'>
  : never;

export interface ModelApi {
  add(fault: ApiFault): void;
  beginOutage(outage: Outage): void;
  /** Ends all faults. */
  heal(): void;
  setGate(open: boolean): void;
  /** Products without BOM items may be published, too. */
  openBomGate(): void;
  /** Ends the connections of the process. The platform soon finishes the requests that it works on. */
  hangUp(): void;
  /** Requests that were not answered yet. */
  working(): number;
  transport(): Transport;
  /** All items of a kind, as the API shows them. */
  products(): JsonObject[];
  materials(): JsonObject[];
  bomItems(): JsonObject[];
  passports(): JsonObject[];
  publications(): JsonObject[];
  turn(): void;
  hasTurned(): boolean;
  /** The operations whose answers have repeated what was sent before the platform turned. */
  echoed: Set<OperationName>;
}

/** How long the platform may work on a request after its connection was lost. The delays of the profile are longer. */
const GONE_WITHIN_MS = 250;
const LATENCY_MS = 30;

const isOfImports = (lie: LieName): boolean => lie.startsWith('product.import:');

/**
 * The sandbox without HTTP: its operations, idempotency keys and faults, over a network in virtual time. It reports
 * every effect, so that a test can compare effects and requests.
 */
export function createModelApi(options: {
  settings: SandboxOptions;
  time: VirtualTime;
  /** Gets each write when it is sent, each answer, and all effects. */
  witness: Pick<Witness, 'write' | 'effect'>;
  /** The client's time limit. */
  timeoutMs: number;
  /** Numbers in [0, 1). */
  random: () => number;
  /** How many products and materials of other people are there from the start. */
  foreign?: { products: number; materials: number };
  /** Lists that the platform refuses after it has turned. */
  closed?: Platform['closed'];
  /** Whether the platform is honest until it turns. */
  turns?: boolean;
}): ModelApi {
  const { time, timeoutMs, random, witness } = options;
  const settings = SandboxSettings.parse(options.settings);
  const ids = createIdScheme(settings.ids);
  const collectionOf = (columns: readonly string[]): Collection => createMemoryCollection(ids, { columns });
  const collections = {
    products: collectionOf(COLUMNS.product),
    materials: collectionOf(COLUMNS.material),
    bomItems: collectionOf(['product_id', 'material_id', 'component_id']),
    passports: collectionOf(COLUMNS.passport),
    publications: collectionOf(COLUMNS.publication),
    reports: collectionOf([]),
  };
  const retention = { retentionMs: settings.idempotencyRetentionMs, keysMax: settings.idempotencyKeysMax };
  const faults = createFaults([]);
  let network: { operation: OperationName | '*'; left: number; fault: NetworkFault }[] = [];
  const atWork = new Set<{ hurry: () => void }>();
  let working = 0;
  /** Requests in flight when their connection is lost finish soon too. */
  let hangUps = 0;

  let hasTurned = options.turns !== true;
  const echoed = new Set<OperationName>();
  const styles = { before: createStyle({ ...settings, answers: {} }), after: createStyle(settings) };
  const outages = createOutages({ time, random });

  /** The clock of the platform, which nobody sets. Its waits end early if nobody waits for the answer any more. */
  const platformClock = {
    now: () => time.ticks(),
    ticks: () => time.ticks(),
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const at = time.ticks() + ms;
        const done = (): void => {
          atWork.delete(work);
          time.stir();
          resolve();
        };
        let cancel = time.after(ms, done);
        const work = {
          hurry() {
            if (at - time.ticks() <= GONE_WITHIN_MS) return;
            cancel();
            cancel = time.after(Math.floor(random() * GONE_WITHIN_MS), done);
          },
        };
        atWork.add(work);
      }),
  };

  const api: ModelApi = {
    add({ operation, count, ...what }) {
      if (what.at === 'network') network.push({ operation, left: count, fault: what.fault });
      else faults.add({ ...what.fault, operation, count } as FaultRule);
    },
    beginOutage: (outage) => outages.begin(outage),
    heal() {
      outages.end();
      network = [];
      faults.clear();
    },
    setGate(open) {
      settings.gates.review.enabled = !open;
    },
    openBomGate() {
      settings.gates.bomPresent.enabled = false;
    },
    hangUp() {
      hangUps += 1;
      for (const work of atWork) work.hurry();
    },
    working: () => working + atWork.size,
    transport: () => ({ exchange: (request) => exchange(request), close: () => Promise.resolve() }),
    products() {
      lateImports.storeDue(platformClock.now());
      return all(collections.products);
    },
    materials: () => all(collections.materials),
    bomItems: () => all(collections.bomItems),
    passports: () => all(collections.passports),
    publications: () => all(collections.publications),
    turn() {
      hasTurned = true;
    },
    hasTurned: () => hasTurned,
    echoed,
  };

  const keysStub = undefined as never;
  const storage = {
    transact: <T>(work: () => T): T => work(),
    writeCounts: { add: () => undefined, list: () => [] },
  };
  const lateImports = createLateImports(storage);
  const operations = createReportingOperations({
    collections,
    create: (late) => createOperations({ collections, ids, keys: keysStub, settings, lateImports: late }),
    lateImports,
    report: (effect) => witness.effect(effect),
  });
  const { foreign = { products: 0, materials: 0 } } = options;
  for (let number = 1; number <= foreign.products; number += 1) {
    const sku = `F-${number}`;
    const fields = { ...UNSET_PRODUCT, sku, name: sku };
    collections.products.insert(ORGANIZATION, { columns: { sku }, fields, now: 0 });
  }
  for (let number = 1; number <= foreign.materials; number += 1) {
    const code = `F-${number}`;
    collections.materials.insert(ORGANIZATION, { columns: { code }, fields: { code, name: code }, now: 0 });
  }
  /** The operations of a platform that tells only its lies about imports before it turns. */
  function turning(honest: Operations): Operations {
    const before = withLies(honest, settings.lies.filter(isOfImports), { collections, ids });
    const after = withLies(honest, settings.lies, { collections, ids });
    const operationOf = (name: OperationName): Operation => ({
      ...before[name],
      execute: (request) => (hasTurned ? after : before)[name].execute(request),
    });
    return Object.fromEntries(OPERATION_NAMES.map((name) => [name, operationOf(name)])) as Operations;
  }

  /** Gives an answer the form that it has now. */
  function styled(answer: Answer, operation: OperationName, isHeard: boolean): Answer {
    if (!hasTurned && isHeard && answer.status < 300) echoed.add(operation);
    return styles[hasTurned ? 'after' : 'before'](answer, operation);
  }

  const process = createProcessor({
    storage,
    operations: withRequestEnvelope(turning(operations), settings.requests),
    lateImports,
    idempotency: createIdempotencyStore(createMemoryIdempotencyRecords(retention), settings.idempotencyReplays),
    idempotencyMode: settings.idempotency,
    faults,
    clock: platformClock,
    closing: new AbortController().signal,
  });

  function takeFault(operation: OperationName): NetworkFault | null {
    const rule = network.find((one) => one.left > 0 && (one.operation === '*' || one.operation === operation));
    if (!rule) return null;
    rule.left -= 1;
    return rule.fault;
  }

  async function exchange(request: Parameters<Transport['exchange']>[0]): Promise<Exchange> {
    const { path, body, headers } = request;
    const at = headers.indexOf('Idempotency-Key');
    const key = at < 0 ? undefined : headers[at + 1];
    const onAnswer = key === undefined ? () => undefined : witness.write({ key, path, body });
    working += 1;
    const answer = await carry({ ...request, key });
    working -= 1;
    time.stir();
    onAnswer(answer);
    return answer;
  }

  async function carry({
    method,
    path,
    body,
    key,
  }: Parameters<Transport['exchange']>[0] & { key: string | undefined }): Promise<Exchange> {
    const [pathname = '', query = ''] = path.split('?');
    const route = routeOf(method, pathname);
    if (route === null) return answered(NOT_FOUND);
    const { operation, params } = route;
    const connection = hangUps;
    const outage = outages.faultFor(operation);
    const fault = outage?.at === 'network' ? outage.fault : takeFault(operation);
    await time.sleep(1 + Math.floor(random() * LATENCY_MS));
    if (fault?.kind === 'refused') return lost(false, 'ECONNREFUSED');
    if (fault?.kind === 'front') {
      const { status, retryAfterSeconds: seconds } = fault;
      const words = status === 503 ? TURNED_AWAY : 'Not now.';
      const said = refusal(status, words, seconds === undefined ? undefined : { 'retry-after': String(seconds) });
      return answered(said);
    }
    if (hasTurned && options.closed?.lists.some((one) => one === operation) === true)
      return answered(refusal(options.closed.status, 'This list is closed.'));
    const request = {
      operation,
      organizationId: ORGANIZATION,
      params,
      path: pathname,
      url: () => `http://model${pathname}`,
      query: new URLSearchParams(query),
      body: body ?? '',
      idempotencyKey: key,
    };
    if (outage?.at === 'platform') faults.add({ ...outage.fault, operation, count: 1 } as FaultRule);
    if (fault?.kind === 'late') {
      const ms = hangUps === connection ? fault.ms : Math.min(fault.ms, GONE_WITHIN_MS);
      faults.add({ kind: 'latency', ms, operation, count: 1 });
    }
    const arrival = time.ticks();
    const work = Promise.resolve(process(request)).then(
      async ({ answer, body: sending, silent }): Promise<Exchange> => {
        time.stir();
        if (silent) {
          await time.sleep(timeoutMs);
          return lost(true, 'UND_ERR_HEADERS_TIMEOUT');
        }
        await time.sleep(Math.floor(random() * LATENCY_MS));
        if (answer === null) return lost(true, 'ECONNRESET');
        const isHeard = hangUps === connection && sending?.kind !== 'truncate';
        return answered(styled(answer, operation, isHeard), sending?.kind === 'truncate');
      },
    );
    if (fault?.kind !== 'late') return await work;
    const answerWaitMs = fault.lost === 'reset' ? Math.min(20, fault.ms) : timeoutMs;
    const code = fault.lost === 'reset' ? 'ECONNRESET' : 'UND_ERR_HEADERS_TIMEOUT';
    const givenUp = time.sleep(Math.max(0, arrival + answerWaitMs - time.ticks())).then(() => lost(true, code));
    return await Promise.race([work, givenUp]);
  }

  return api;
}

function all(collection: Collection): JsonObject[] {
  return entitiesOf(collection).map(present);
}

function routeOf(method: string, path: string): { operation: OperationName; params: Record<string, string> } | null {
  for (const operation of OPERATION_NAMES) {
    const endpoint = ENDPOINTS[operation];
    if (endpoint.method !== method) continue;
    const pattern = endpoint.path.replaceAll('.', '\\.').replace(/\{(\w+)\}/, '(?<$1>[^/]+)');
    const match = new RegExp(`^${pattern}$`).exec(path);
    if (match) return { operation, params: { ...match.groups } };
  }
  return null;
}

function lost(sent: boolean, code: string): Exchange {
  return { kind: 'silence', sent, loss: { by: 'error', error: Object.assign(new Error('lost'), { code }) } };
}

function answered({ status, headers = {}, body, document }: Answer, truncated = false): Exchange {
  const text = document ? document.bytes.toString() : JSON.stringify(body satisfies JsonValue);
  const error = Object.assign(new Error('lost'), { code: 'ECONNRESET' });
  return {
    kind: 'answer',
    status,
    headers,
    body: truncated ? text.slice(0, text.length / 2) : text,
    cut: truncated ? { by: 'error', error } : null,
  };
}
