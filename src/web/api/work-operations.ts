import { z } from 'zod';
import type { Handler } from '../../admin/handler.ts';
import { correctRows } from '../../admin/handlers/correct-rows.ts';
import { handlers } from '../../admin/handlers/index.ts';
import type { Role } from '../server/route.ts';
import { notFound } from '../web-fault.ts';
import { CORRECT_ROWS } from './correct-rows.ts';
import { type ApiOperation, defineOperation, shown, started, type Tag } from './operation.ts';
import { Operation } from './schemas.ts';

interface Described {
  summary: string;
  tag: Tag;
  role: Role;
}

/** Describes the handlers of the admin channel, except those that read the platform and `correct-rows`. A test compares this list with the handlers. */
export const WORK: Readonly<Record<string, Described>> = {
  sync: { summary: 'Pulls, maps, sends and publishes.', tag: 'work', role: 'operator' },
  replay: { summary: 'Maps stored records again and sends the items that result.', tag: 'attention', role: 'operator' },
  'replay-cause': {
    summary: 'Maps all records of a cause again and sends the items that result.',
    tag: 'attention',
    role: 'editor',
  },
  'replay-form': {
    summary: 'Sends items again that were sent in another form than the profile has now.',
    tag: 'attention',
    role: 'operator',
  },
  'retry-deliveries': {
    summary:
      'Maps the records of stuck deliveries again, sends the items that pass, and reports the result of each delivery.',
    tag: 'attention',
    role: 'operator',
  },
  backup: { summary: 'Makes a backup of the ledger and verifies it.', tag: 'daemon', role: 'operator' },
  reload: { summary: 'Reads the config and all files that it names again.', tag: 'daemon', role: 'operator' },
  'mute-alert': { summary: 'Mutes the notices of an alert for a time, or ends that.', tag: 'daemon', role: 'operator' },
  settle: { summary: 'Settles named deliveries by hand.', tag: 'attention', role: 'operator' },
  'settle-selected': { summary: 'Settles all deliveries in a state by hand.', tag: 'attention', role: 'operator' },
  'settle-cause': { summary: 'Settles the items of a cause by hand.', tag: 'attention', role: 'operator' },
  'settle-parts': {
    summary: 'Records whether the BOM items of adopted products are at the platform.',
    tag: 'attention',
    role: 'operator',
  },
  publish: { summary: 'Publishes the passports of named products.', tag: 'work', role: 'operator' },
  'change-passports': {
    summary: 'Publishes or withdraws the passports of named products, or of all that a filter selects.',
    tag: 'work',
    role: 'operator',
  },
  'publish-complete': { summary: 'Publishes the passports of all complete products.', tag: 'work', role: 'operator' },
  unpublish: { summary: 'Withdraws the passports of named products.', tag: 'work', role: 'operator' },
  'report-create': { summary: 'Asks the platform for a report, once.', tag: 'platform', role: 'operator' },
};

/** Only operators may use a handler without an entry. */
function describe(name: string): Described {
  return WORK[name] ?? { summary: `Runs ${name}.`, tag: 'work', role: 'operator' };
}

const Nothing = z.strictObject({});
const Id = z.strictObject({ id: z.string() });

/** Makes an operation from a handler of the admin channel. The operation answers at once, and the work continues. */
function startOf(handler: Handler<unknown, unknown>): ApiOperation {
  const { summary, tag, role } = describe(handler.name);
  return defineOperation({
    method: 'POST',
    path: `/operations/${handler.name}`,
    id: camelCase(handler.name),
    summary,
    tag,
    role,
    params: Nothing,
    query: Nothing,
    body: handler.request,
    answer: { status: 202, schema: Operation },
    async handle({ body, person }, { tasks }) {
      return started(await tasks.start(handler, body, { who: person.name, via: 'api', title: summary }));
    },
  });
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The operations that start work for a person and show its progress. */
export const WORK_OPERATIONS: readonly ApiOperation[] = [
  // Handlers that only read are left out here. They write a document in place of a result, so `platform-operations.ts`
  // has them.
  ...handlers
    .filter(({ isRead }) => isRead !== true)
    .map((handler) => (handler === correctRows ? CORRECT_ROWS : startOf(handler))),
  defineOperation({
    method: 'GET',
    path: '/operations',
    id: 'listOperations',
    summary: 'Lists the last operations, the newest first.',
    tag: 'work',
    role: 'viewer',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.array(Operation) },
    async handle(_, { tasks }) {
      return { value: tasks.list().map(shown) };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/operations/:id',
    id: 'showOperation',
    summary: 'Shows the state of an operation, and its result once it has ended.',
    tag: 'work',
    role: 'viewer',
    params: Id,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: Operation },
    async handle({ params: { id } }, { tasks }) {
      const task = tasks.get(id);
      if (task === null) throw notFound(`There is no operation ${id}. The last 200 are kept until a restart.`);
      return { value: shown(task) };
    },
  }),
  defineOperation({
    method: 'POST',
    path: '/operations/:id/stop',
    id: 'stopOperation',
    summary: 'Interrupts an operation. What it has done stays.',
    tag: 'work',
    role: 'operator',
    action: 'operation.stop',
    params: Id,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.strictObject({ stopped: z.boolean() }) },
    async handle({ params: { id } }, { tasks }) {
      return { value: { stopped: tasks.stop(id) } };
    },
  }),
];
