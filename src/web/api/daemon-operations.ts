import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import { ALERT_CONDITIONS } from '../../domain/ports/alerts.ts';
import { PASSPORT_STATES } from '../../domain/ports/ledger-views.ts';
import { type ApiOperation, defineOperation } from './operation.ts';
import { PassportCounts, Time } from './schemas.ts';

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

/** How the daemon itself stands. */
export const DAEMON_OPERATIONS: readonly ApiOperation[] = [
  defineOperation({
    method: 'GET',
    path: '/status',
    id: 'status',
    summary: 'Shows health, counts, runs under way and the last reload of the config.',
    tag: 'daemon',
    role: 'viewer',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: Status },
    async handle(_, context) {
      const { health, runtime, care, version, startedAt } = context;
      const [{ status, ledger, queue, api }, { items, passports, quarantined }] = await Promise.all([
        health.check(),
        context.standing(),
      ]);
      const counts = Object.fromEntries(PASSPORT_STATES.map((state) => [state, passports[state] ?? 0]));
      const of = { version, startedAt, running: context.running(), lastReload: care.lastReload() };
      const lost = runtime.ledgerLost();
      if (lost !== null) throw lost;
      return { value: { ...of, status, ledger, queue, api, items, passports: counts, quarantined } };
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
    summary: 'Lists the alerts, the firing ones first, and what became of their notices.',
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
