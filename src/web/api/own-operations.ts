// The operations of the admin API that need parts of the web server.

import { z } from 'zod';
import { isMember } from '../../daemon/uploads/plan-corrections.ts';
import { identityOf, readableKey } from '../../domain/record.ts';
import { CorrectRowsRequest, correctRows } from '../../operations/correct-rows.ts';
import { TaskDocument } from '../../operations/documents.ts';
import type { AnyOperation } from '../../operations/operation.ts';
import { keysOf, noUploadReason, targetOf } from '../pages/attention/cause-rows.ts';
import { checkSettings } from '../pages/settings/check-settings.ts';
import { mayDo } from '../server/answers.ts';
import { badRequest, notFound, WebFault } from '../web-fault.ts';
import { type ApiContext, type ApiOperation, apiOperation, describedAs, NOTHING, shown, started } from './operation.ts';

const CORRECTED = CorrectRowsRequest.extend({
  cause: z.string().optional().describe('The id of a cause. Then each row has to be one of its rows.'),
});

/** Stores corrected rows under the rules of the upload form: an editor corrects only rows that are stuck. */
export const CORRECT_ROWS: ApiOperation = {
  ...apiOperation(correctRows),
  body: CORRECTED,
  async handle({ body, person, abort }, context) {
    const { cause, ...rows } = body as z.output<typeof CORRECTED>;
    if (cause !== undefined) await assertRowsOf(cause, rows, { context, abort });
    else if (!mayDo(person, 'operator')) throw new WebFault(403, NO_CAUSE);
    const by = { who: person.name, via: 'api' as const, title: correctRows.summary };
    return started(await context.tasks.start(correctRows, rows, by));
  },
};

const NO_CAUSE =
  'Your role corrects only rows of a cause. Name the id of the cause as `cause`, or ask for the role operator.';

async function assertRowsOf(
  cause: string,
  { source, stream, rows }: CorrectRowsRequest,
  { context: { runtime, reads }, abort }: { context: ApiContext } & { abort: AbortSignal },
): Promise<void> {
  const found = await reads.cause(cause);
  if (found === null) throw notFound('Nothing is stuck for this cause any more.');
  const target = await targetOf(found, runtime, abort);
  const reason = noUploadReason(target);
  if (target === null || reason !== null) throw badRequest(reason ?? '');
  if (target.source.id !== source || target.stream !== stream) {
    throw badRequest(
      `The rows of this cause belong to ${target.source.id}/${target.stream}, not to ${source}/${stream}.`,
    );
  }
  const members = await keysOf(cause, { target, uploaded: rows.map(({ fields }) => fields) }, runtime, abort);
  const foreign = rows.map(({ fields }) => identityOf(fields, target.key)).find((key) => !isMember(key, members));
  if (foreign === undefined) return;
  throw badRequest(
    foreign === null
      ? `A row has no value in a key column (${target.key.join(', ')}). Nothing is stored.`
      : `The row with the key ${readableKey(foreign)} is not one of the rows of this cause. Nothing is stored.`,
  );
}

const OneTask = z.strictObject({ id: z.string() });
/** The work that people have started. */
export const TASK_OPERATIONS: readonly ApiOperation[] = [
  {
    ...describedAs(
      { name: 'list-operations', summary: 'Lists the last operations, the newest first.', tag: 'work', role: 'viewer' },
      '/operations',
    ),
    params: NOTHING,
    answer: { status: 200, schema: z.array(TaskDocument) },
    handle: async (_, { tasks }) => ({ value: tasks.list().map(shown) }),
  },
  {
    ...describedAs(
      {
        name: 'show-operation',
        summary: 'Shows the state of an operation, and its result once it has ended.',
        tag: 'work',
        role: 'viewer',
      },
      '/operations/:id',
    ),
    params: OneTask,
    answer: { status: 200, schema: TaskDocument },
    async handle({ params }, { tasks }) {
      const { id } = params as z.output<typeof OneTask>;
      const task = tasks.get(id);
      if (task === null) throw notFound(`There is no operation ${id}. The last 200 are kept until a restart.`);
      return { value: shown(task) };
    },
  },
  {
    ...describedAs(
      {
        name: 'stop-operation',
        summary: 'Interrupts an operation. What it has done stays.',
        tag: 'work',
        role: 'operator',
      },
      '/operations/:id/stop',
    ),
    method: 'POST',
    action: 'operation.stop',
    params: OneTask,
    answer: { status: 200, schema: z.strictObject({ stopped: z.boolean() }) },
    handle: async ({ params }, { tasks }) => ({
      value: { stopped: tasks.stop((params as z.output<typeof OneTask>).id) },
    }),
  },
];

export const CHECK_SETTINGS: ApiOperation = {
  ...apiOperation(checkSettings as AnyOperation),
  body: null,
  async handle({ person }, { tasks }) {
    const by = { who: person.name, via: 'api' as const, title: 'Check of sources, queue and API' };
    return started(await tasks.start(checkSettings, {}, by));
  },
};
