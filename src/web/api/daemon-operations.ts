import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import { ALERT_CONDITIONS } from '../../domain/ports/alerts.ts';
import { PASSPORT_STATES } from '../../domain/ports/ledger/ledger-views.ts';
import { QUEUE_NAMES } from '../../domain/ports/queues.ts';
import { checkSettings } from '../pages/settings/check-settings.ts';
import { type ApiOperation, defineOperation, started } from './operation.ts';
import { Operation, PassportCounts, Time } from './schemas.ts';

const Nothing = z.strictObject({});
const Count = z.number().int().nonnegative();
const States = z.record(z.string(), Count);

const Status = z.strictObject({
  version: z.string(),
  startedAt: Time,
  status: z.string().describe('`ok`, `degraded`, `unhealthy` or `stopping`.'),
  ledger: z.string(),
  queue: z.string(),
  api: z.string(),
  running: z.array(z.string()).describe('The sources that are being read.'),
  items: z.strictObject({ product: States, material: States, bom_item: States }),
  passports: PassportCounts,
  quarantined: Count,
  guarded: z
    .array(
      z.strictObject({
        source: z.string(),
        stream: z.string(),
        runId: z.number().int(),
        since: Time,
        read: Count,
        missing: Count,
        released: Count,
        creates: Count,
        gone: z.array(z.string()).describe('The names of the first records or items that are gone, at most 100.'),
        message: z.string(),
        isLeft: z.boolean().describe('True if the config no longer has the stream.'),
        isOlder: z
          .boolean()
          .describe('True if the export is older than the last one, so that none of its rows was stored.'),
      }),
    )
    .describe('Exports that the guard holds until a person accepts them: `sync` with `accept`.'),
  sources: z.array(
    z.strictObject({
      source: z.string(),
      completeAt: Time.nullable().describe('The end of the last complete run.'),
      nextRunAt: Time.nullable().describe('Null if no run begins automatically.'),
      pausedUntil: Time.nullable(),
    }),
  ),
  pausedQueues: z.array(z.enum(QUEUE_NAMES)).nullable().describe('Null while the queue is out of reach.'),
  requestsPerSecond: z.strictObject({
    now: z.number(),
    allowed: z.number().nullable().describe('The rate that the API allows, as far as dpp-sync knows it.'),
  }),
  lastReload: z.strictObject({ at: Time, ok: z.boolean(), errors: z.array(z.string()) }).nullable(),
});

const Backup = z.strictObject({ file: z.string(), madeAt: Time, bytes: Count });

const Alert = z.strictObject({
  id: z.string(),
  condition: z.enum(ALERT_CONDITIONS),
  source: z.string().nullable(),
  stream: z.string().nullable(),
  firing: z.boolean(),
  since: Time,
  message: z.string(),
  mutedUntil: Time.nullable(),
  notices: z.array(
    z.strictObject({
      channel: z.string(),
      state: z.enum(['none', 'waiting', 'sent', 'given_up']),
      at: Time.nullable(),
      error: z.string().nullable(),
    }),
  ),
});

const ChannelTest = z.strictObject({ channel: z.string(), ok: z.boolean(), error: z.string().nullable() });

/** Pauses or resumes a queue. A paused queue keeps its jobs. */
function pauseOperation(does: 'pause' | 'resume', summary: string): ApiOperation {
  const paused = does === 'pause';
  return defineOperation({
    method: 'POST',
    path: `/queues/:queue/${does}`,
    id: `${does}Queue`,
    summary,
    tag: 'daemon',
    role: 'operator',
    action: `queue.${does}`,
    params: z.strictObject({ queue: z.enum(QUEUE_NAMES) }),
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.strictObject({ paused: z.boolean() }) },
    async handle({ params: { queue } }, { runtime }) {
      await runtime.queues.setPaused(queue, paused);
      runtime.engine.wake();
      return { value: { paused } };
    },
  });
}

/** The operations about the daemon itself. */
export const DAEMON_OPERATIONS: readonly ApiOperation[] = [
  defineOperation({
    method: 'GET',
    path: '/status',
    id: 'status',
    summary: 'Shows health, counts, runs, exports that the guard holds, the rate, and the last reload of the config.',
    tag: 'daemon',
    role: 'viewer',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: Status },
    async handle(_, context) {
      const { health, runtime, care, version, startedAt } = context;
      const [{ status, ledger, queue, api }, standing, pausedQueues] = await Promise.all([
        health.check(),
        context.standing(),
        context.pausedQueues(),
      ]);
      const { items, quarantined } = standing;
      const guarded = [...standing.guarded];
      const passports = Object.fromEntries(PASSPORT_STATES.map((state) => [state, standing.passports[state] ?? 0]));
      const sources = standing.sources.map(({ source, completeAt, nextRunAt }) => {
        return { source, completeAt, nextRunAt, pausedUntil: care.pausedUntil(source) };
      });
      const requestsPerSecond = { now: context.activity.requestsPerSecond(), allowed: runtime.api.learntRate() };
      const of = { version, startedAt, running: context.running(), lastReload: care.lastReload(), requestsPerSecond };
      const lost = runtime.ledgerLost();
      if (lost !== null) throw lost;
      const parts = { status, ledger, queue, api };
      return { value: { ...of, ...parts, items, passports, quarantined, guarded, sources, pausedQueues } };
    },
  }),
  pauseOperation('pause', 'Pauses a queue. Its jobs wait until it is resumed.'),
  pauseOperation('resume', 'Resumes a queue.'),
  defineOperation({
    method: 'POST',
    path: '/operations/check-settings',
    id: 'checkSettings',
    summary: 'Opens every source, connects to the queue, and asks the API what the keys may do.',
    tag: 'daemon',
    role: 'operator',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 202, schema: Operation },
    async handle({ person }, { tasks, log, version }) {
      const by = { who: person.name, via: 'api' as const, title: 'Check of sources, queue and API' };
      return started(await tasks.start(checkSettings({ log, version }), {}, by));
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/backups',
    id: 'listBackups',
    summary: 'Lists the scheduled backups that are there, the newest first.',
    tag: 'daemon',
    role: 'operator',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.array(Backup) },
    async handle(_, { care }) {
      return { value: await care.backups.list() };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/alerts',
    id: 'listAlerts',
    summary: 'Lists the alerts, those that fire first, and the state of their notices.',
    tag: 'daemon',
    role: 'viewer',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.array(Alert) },
    async handle(_, { runtime: { alerts } }) {
      return { value: alerts?.list() ?? [] };
    },
  }),
  defineOperation({
    method: 'POST',
    path: '/alerts/test',
    id: 'testAlerts',
    summary: 'Sends one message to each channel of the alerts.',
    tag: 'daemon',
    role: 'operator',
    action: 'alerts.test',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.array(ChannelTest) },
    async handle({ abort }, { runtime: { alerts } }) {
      return { value: (await alerts?.test(abort)) ?? [] };
    },
  }),
  defineOperation({
    method: 'POST',
    path: '/sources/:source/stop',
    id: 'stopRun',
    summary: 'Interrupts the run of a source between two pages. What it has read stays.',
    tag: 'work',
    role: 'operator',
    action: 'run.stop',
    params: z.strictObject({ source: z.string() }),
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.strictObject({ stopped: z.boolean() }) },
    async handle({ params: { source } }, { runtime }) {
      if (!runtime.config.sources.some(({ id }) => id === source)) {
        throw fault('item.unknown', `The config has no source "${source}".`);
      }
      return { value: { stopped: runtime.stopRun(source) } };
    },
  }),
];
