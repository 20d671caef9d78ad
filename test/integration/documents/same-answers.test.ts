// A command, the socket of the daemon, the admin API and a form of the dashboard run one list of operations, so each
// operation gives the same document everywhere.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createChannelClient } from '../../../src/admin/channel-client.ts';
import type { Admin } from '../../../src/admin/local-admin.ts';
import { Fault } from '../../../src/lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../../src/lib/json.ts';
import { findPackage } from '../../../src/lib/package.ts';
import { OPERATIONS } from '../../../src/operations/list.ts';
import { type AnyOperation, answerOf } from '../../../src/operations/operation.ts';
import { failureOf } from '../../../src/operations/outcome-fault.ts';
import { planSources } from '../../../src/operations/runs.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createDashboardWorld } from '../../support/worlds/dashboard-world.ts';
import { plainValues } from './plain-values.ts';

const { version } = findPackage();

interface Case {
  command: string;
  asked: object;
  /** A form of the dashboard that asks the same, and its fields. */
  form?: readonly [path: string, fields: Record<string, string>];
}

const waitMs = 60_000;
const CASES: Record<string, readonly Case[]> = {
  sync: [
    { command: 'sync erp', asked: { sources: ['erp'], accept: [], waitMs }, form: ['/runs/start', { source: 'erp' }] },
    { command: 'sync nowhere', asked: { sources: ['nowhere'], accept: [], waitMs } },
  ],
  replay: [{ command: 'replay --state rejected --dry-run', asked: { states: ['rejected'], dryRun: true } }],
  'replay-form': [{ command: 'replay --form --dry-run', asked: { dryRun: true } }],
  reload: [{ command: 'reload', asked: {} }],
  publish: [{ command: 'publish P-1 P-6', asked: { products: ['P-1', 'P-6'], waitMs } }],
  unpublish: [{ command: 'unpublish P-2', asked: { products: ['P-2'], waitMs } }],
  'publish-complete': [{ command: 'publish --all --yes', asked: { dryRun: false, waitMs } }],
  settle: [
    {
      command: 'settle P-1 --delivered',
      asked: { names: ['P-1'], resolution: 'delivered', id: null, kind: null },
    },
  ],
  'settle-selected': [
    {
      command: 'settle --state missing --ignore --yes',
      asked: { state: 'missing', kind: null, source: null, resolution: 'ignored', dryRun: false },
    },
    {
      command: 'settle --state rejected --delivered --yes',
      asked: { state: 'rejected', kind: null, source: null, resolution: 'delivered', dryRun: false },
    },
  ],
  'settle-parts': [{ command: 'settle --bom present P-1', asked: { products: ['P-1'], present: true } }],
  'mute-alert': [
    { command: 'alerts mute api_down', asked: { id: 'api_down', forMs: 8 * 3_600_000 } },
    { command: 'alerts mute quarantine/erp', asked: { id: 'quarantine/erp', forMs: 8 * 3_600_000 } },
  ],
  refuse: [{ command: 'refuse erp', asked: { source: 'erp' } }],
  status: [{ command: 'status', asked: {} }],
  test: [{ command: 'test', asked: {} }],
  'list-alerts': [{ command: 'alerts list', asked: {} }],
  'show-item': [
    { command: 'show product P-1', asked: { kind: 'product', key: 'P-1' } },
    { command: 'show passport P-1', asked: { kind: 'passport', key: 'P-1' } },
    { command: 'show bom_item P-6/10', asked: { kind: 'bom_item', key: 'P-6/10' } },
  ],
  'show-item-by-query': [{ command: 'show product P-5', asked: { kind: 'product', key: 'P-5' } }],
  why: [
    { command: 'why P-1', asked: { product: 'P-1' } },
    { command: 'why P-6', asked: { product: 'P-6' } },
  ],
};

/** Work that no command asks for alone, by a cause in quarantine. It may be done several times with the same result. */
const OF_FORMS: Record<string, (cause: string) => { asked: JsonObject; form?: NonNullable<Case['form']> }> = {
  'replay-cause': (cause) => ({
    asked: { cause, dryRun: true, waitMs },
    form: [`/attention/${cause}/replay/try`, {}],
  }),
  'change-passports': () => ({
    asked: { status: 'published', products: ['P-1'], filter: {}, until: null, waitMs },
    form: ['/passports/change', { status: 'published', product: 'P-1' }],
  }),
  backup: () => ({ asked: {}, form: ['/settings/backup', {}] }),
  'retry-deliveries': () => ({ asked: { deliveries: [1], waitMs } }),
  'settle-cause': (cause) => ({
    asked: { cause, resolution: 'ignored', item: null, until: null },
    form: [`/attention/${cause}/settle`, { resolution: 'ignored' }],
  }),
  'correct-rows': () => ({ asked: { source: 'erp', stream: 'prices', rows: [{ fields: {}, place: {}, version: 1 }] } }),
  'report-create': () => ({ asked: { body: {}, idempotencyKey: 'a-report-of-a-test' } }),
};

/** Lists, whose rows are the lines of a command. */
const LISTS: readonly (Case & { name: string })[] = [
  { name: 'list-items', command: 'items', asked: {} },
  { name: 'list-items', command: 'items --kind product --search P-', asked: { kind: 'product', search: 'P-' } },
  { name: 'list-items', command: 'items --state incomplete', asked: { state: 'incomplete' } },
  { name: 'list-quarantine', command: 'quarantine --source erp', asked: { source: 'erp' } },
];

/** What the named operations are asked that only read. */
const NAMES: JsonObject = { kind: 'product', key: 'P-5', product: 'P-5', id: '1' };

describe('an operation answers with the same document', () => {
  let served: ServedWorld;
  let socket: Admin;

  beforeAll(async () => {
    served = await startDaemon(await createDashboardWorld(), { version });
    const { daemon, world } = served;
    await daemon.startRun('erp', 'schedule');
    const { reads, queues, config } = daemon.runtime;
    await vi.waitUntil(async () => (await reads.passportCounts({})).initialized === 4, { timeout: WAIT_MS });
    await vi.waitUntil(async () => (await queues.failed('deliver')).length === 1, { timeout: WAIT_MS });
    const isKnown = () => daemon.runtime.alerts?.list().some(({ id }) => id === 'quarantine/erp') === true;
    await vi.waitUntil(isKnown, { timeout: WAIT_MS });
    const { signal } = new AbortController();
    socket = createChannelClient({ config, version, command: 'test', signal, onOtherConfig: () => {} });
    // What the first publication changes is done before the documents are compared.
    for (const step of [
      'publish P-1',
      'unpublish P-2',
      'publish --all --yes',
      'settle --state rejected --delivered --yes',
    ])
      await runHere([...step.split(' '), '-c', world.configFile, '--json']);
  });
  afterAll(() => served.remove());

  const plain = (value: unknown) => plainValues(value, served.world);

  async function ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${WEB_TOKEN}`, ...(init.headers as Record<string, string> | undefined) };
    return fetch(`${served.url}${path}`, { redirect: 'manual', ...init, headers });
  }

  async function viaCommand(command: string): Promise<unknown> {
    const { stdout } = await runHere([...command.split(' '), '-c', served.world.configFile, '--json']);
    return JSON.parse(stdout);
  }

  async function viaSocket(operation: AnyOperation, asked: object): Promise<unknown> {
    try {
      return answerOf(operation, await socket.run(operation, asked));
    } catch (error) {
      if (error instanceof Fault) return failureOf(error);
      throw error;
    }
  }

  async function outcomeOf(task: string): Promise<unknown> {
    const outcome = await vi.waitUntil(
      async () => ((await (await ask(`/api/v1/operations/${task}`)).json()) as { outcome: JsonObject | null }).outcome,
      { timeout: WAIT_MS },
    );
    return outcome['ok'] === true ? outcome['result'] : outcome;
  }

  async function viaApi({ kind, name, at }: AnyOperation, asked: JsonObject): Promise<unknown> {
    if (kind !== 'work') {
      const [method = ''] = (at ?? '').split(' ');
      return (await ask(`/api/v1${addressOf(at ?? '', asked)}`, { method })).json();
    }
    const body = JSON.stringify(asked);
    const headers = { 'content-type': 'application/json' };
    const started = await ask(`/api/v1/operations/${name}`, { method: 'POST', headers, body });
    return outcomeOf(((await started.json()) as { id: string }).id);
  }

  async function viaForm([path, fields]: NonNullable<Case['form']>): Promise<unknown> {
    const answer = await ask(path, { method: 'POST', body: new URLSearchParams(fields) });
    const [, task] = /(?:\/tasks\/|tried=)([^&]+)/.exec(answer.headers.get('location') ?? '') ?? [];
    if (task === undefined) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
    return outcomeOf(task);
  }

  /** A refusal has the same code everywhere; the document of a command has its message with the advice. */
  function comparable(document: unknown): unknown {
    if (!isJsonObject(document)) return document;
    const { error } = document;
    if (document['ok'] === false && isJsonObject(error) && Object.keys(document).length === 2) return error['code'];
    return typeof document['code'] === 'string' ? document['code'] : plain(document);
  }

  it('each operation that is a command has a case', () => {
    const commands = OPERATIONS.filter((one) => 'exitCode' in one).map(({ name }) => name);
    expect(Object.keys(CASES).sort()).toEqual(commands.sort());
  });

  it('all work has a case', () => {
    const work = OPERATIONS.filter(({ kind }) => kind === 'work').map(({ name }) => name);
    expect(work.filter((name) => !(name in CASES) && !(name in OF_FORMS))).toEqual([]);
  });

  const cases = Object.entries(CASES).flatMap(([name, all]) => all.map((one) => ({ name, ...one })));

  it.each(cases)('by command, socket, admin API and form: $command', async ({ name, command, asked, form }) => {
    const operation = OPERATIONS.find((one) => one.name === name) as AnyOperation;
    const ofCommand = comparable(await viaCommand(command));
    expect(comparable(await viaSocket(operation, asked))).toEqual(ofCommand);
    expect(comparable(await viaApi(operation, asked as JsonObject))).toEqual(ofCommand);
    if (form !== undefined) expect(comparable(await viaForm(form))).toEqual(ofCommand);
  });

  it.each(LISTS)('the lines of a command are the rows of socket and admin API: $command', async (one) => {
    const { name, command, asked } = one;
    const operation = OPERATIONS.find((other) => other.name === name) as AnyOperation;
    const { stdout } = await runHere([...command.split(' '), '-c', served.world.configFile, '--json']);
    const lines = stdout.split('\n').filter((line) => line !== '');
    const rows = lines.map((line) => plain(JSON.parse(line)));
    expect(rows.length).toBeGreaterThan(1);
    const parsed = operation.request.parse(asked) as object;
    expect(plain(await viaSocket(operation, parsed))).toMatchObject({ rows, next: null });
    expect(plain(await viaApi(operation, asked as JsonObject))).toMatchObject({ rows, next: null });
  });

  it('the lines of a plan are the same by command, socket and admin API', async () => {
    const linesOf = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => ({ ...(JSON.parse(line) as JsonObject), madeAt: null }));
    const ofCommand = linesOf((await runHere(['plan', '--json', '-c', served.world.configFile])).stdout);
    expect(ofCommand.length).toBeGreaterThan(2);
    const chunks: Uint8Array[] = [];
    const onBytes = async (chunk: Uint8Array) => void chunks.push(chunk);
    const end = await socket.run(planSources, { sources: [] }, { onBytes });
    expect(linesOf(Buffer.concat(chunks).toString())).toEqual(ofCommand);
    expect({ ...end, madeAt: null }).toEqual(ofCommand.at(-1));
    expect(linesOf(await (await ask('/api/v1/plan')).text())).toEqual(ofCommand);
  });

  it.each(Object.keys(OF_FORMS))('by socket, admin API and form: %s', async (name) => {
    const [cause] = await served.daemon.runtime.reads.causes({ type: 'quarantine' });
    const { asked, form } = OF_FORMS[name]?.(cause?.id ?? '') ?? { asked: {} };
    const operation = OPERATIONS.find((one) => one.name === name) as AnyOperation;
    const ofSocket = comparable(await viaSocket(operation, asked));
    expect(comparable(await viaApi(operation, asked))).toEqual(ofSocket);
    if (form !== undefined) expect(comparable(await viaForm(form))).toEqual(ofSocket);
  });

  const looks = OPERATIONS.filter(({ kind }) => kind === 'look').map(({ name }) => name);

  it.each(looks)('by socket and admin API: %s', async (name) => {
    const operation = OPERATIONS.find((one) => one.name === name) as AnyOperation;
    const shape = Object.keys((operation.request as unknown as { shape: object }).shape);
    const [cause] = await served.daemon.runtime.reads.causes({});
    const given = name.includes('cause') ? { ...NAMES, id: cause?.id ?? '' } : NAMES;
    const isNamed = (member: string) =>
      (operation.at ?? '').includes(`:${member}`) || (name.endsWith('by-query') && member === 'key');
    const asked = Object.fromEntries(shape.filter(isNamed).map((member) => [member, given[member] ?? null]));
    const parsed = operation.request.parse(asked);
    expect(plain(await viaSocket(operation, parsed as object))).toEqual(plain(await viaApi(operation, asked)));
  });
});

/** The address of an operation that reads: the members that the path names, and the others as a query. */
function addressOf(at: string, asked: JsonObject): string {
  const rest = new URLSearchParams();
  let path = at.split(' ')[1] ?? '';
  for (const [member, value] of Object.entries(asked)) {
    if (typeof value !== 'string') continue;
    if (path.includes(`:${member}`)) path = path.replace(`:${member}`, encodeURIComponent(value));
    else rest.set(member, value);
  }
  return rest.size === 0 ? path : `${path}?${rest.toString()}`;
}
