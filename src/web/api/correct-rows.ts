import { z } from 'zod';
import { CorrectRowsRequest, correctRows } from '../../admin/handlers/correct-rows.ts';
import { isMember } from '../../daemon/uploads/plan-corrections.ts';
import { identityOf, readableKey } from '../../domain/record.ts';
import { keysOf, noUploadReason, targetOf } from '../pages/attention/cause-rows.ts';
import { mayDo } from '../server/answers.ts';
import { badRequest, notFound, WebFault } from '../web-fault.ts';
import { type ApiContext, defineOperation, started } from './operation.ts';
import { Operation } from './schemas.ts';

const SUMMARY =
  'Stores corrected rows of a stream. The next export of the stream can replace them. An editor names the cause that the rows belong to; an operator may correct every row.';

const Body = CorrectRowsRequest.extend({
  cause: z.string().optional().describe('The id of a cause. Then each row has to be one of its rows.'),
});

/** Stores corrected rows under the rules of the upload form: an editor corrects only rows that are stuck. */
export const CORRECT_ROWS = defineOperation({
  method: 'POST',
  path: `/operations/${correctRows.name}`,
  id: 'correctRows',
  summary: SUMMARY,
  tag: 'attention',
  role: 'editor',
  params: z.strictObject({}),
  query: z.strictObject({}),
  body: Body,
  answer: { status: 202, schema: Operation },
  async handle({ body: { cause, ...rows }, person, abort }, context) {
    if (cause !== undefined) await assertRowsOf(cause, rows, { context, abort });
    else if (!mayDo(person, 'operator')) throw new WebFault(403, NO_CAUSE);
    const by = { who: person.name, via: 'api' as const, title: SUMMARY };
    return started(await context.tasks.start(correctRows, rows, by));
  },
});

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
