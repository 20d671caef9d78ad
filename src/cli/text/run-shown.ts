import type { Admin, Handler } from '../../admin/handler.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import type { CommandContext } from '../context.ts';
import { createProgress } from './progress.ts';

/** Runs one handler in the process that holds the ledger, and shows its progress. */
export function runShown<Request, Result>(
  context: CommandContext,
  config: RuntimeConfig,
  { command, handler }: { command: string; handler: Handler<Request, Result> },
  request: Request,
): Promise<Result> {
  return context.withAdmin(config, command, (admin) => shown(context, admin, handler, request));
}

/** Like `runShown`, with an admin that is already open. */
export async function shown<Request, Result>(
  context: CommandContext,
  admin: Admin,
  handler: Handler<Request, Result>,
  request: Request,
): Promise<Result> {
  const { show, stop } = createProgress(context);
  try {
    return await admin.run(handler, request, show === null ? {} : { onProgress: show });
  } finally {
    stop();
  }
}
