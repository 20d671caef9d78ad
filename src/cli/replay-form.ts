import { type FormReplayAsked, replayInPresentForm } from '../admin/handlers/replay.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { exitCodeOf } from '../daemon/sync.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import type { FormReplayOutcome, KindCounts } from '../domain/ports/replay.ts';
import type { CommandContext } from './context.ts';
import { showReport } from './source/sync.ts';
import { syncDocument } from './source/sync-report.ts';
import { runShown } from './text/run-shown.ts';
import { contactDocument } from './text/standing.ts';
import { countKind } from './text/words.ts';

/** Sends items again that were sent in another form than the profile has now, or counts them. */
export async function replayForm(
  request: FormReplayAsked,
  { context, config }: { context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  const { dryRun } = request;
  const { form, synced } = dryRun
    ? await context.withAdmin(config, 'replay', (admin) => admin.run(replayInPresentForm, request))
    : await runShown(context, config, { command: 'replay', handler: replayInPresentForm }, request);
  const lines = formLines(form, dryRun);
  if (synced === null) {
    if (output.json) output.document({ ok: true, dryRun, form });
    output.print(...lines);
    return 0;
  }
  if (output.json) {
    const { ok, runs: _, ...rest } = syncDocument(synced);
    output.document({ ok, dryRun, form, ...rest, ...contactDocument(synced.attention) });
  }
  if (!output.quiet) output.print(...lines, '');
  showReport(context, config, synced);
  return exitCodeOf(synced);
}

function formLines({ staged, unsupported, open }: FormReplayOutcome, dryRun: boolean): string[] {
  const lines: string[] = [];
  const [again, impossible, underWay] = [staged, unsupported, open].map(listed);
  if (again !== null) {
    lines.push(
      `${again} ${dryRun ? 'would be' : 'are'} sent again, with all fields in the form that the profile has now.`,
    );
  }
  if (underWay !== null) {
    lines.push(`${underWay}: not sent again now, because a write is due or needs a person. That write has all fields.`);
  }
  if (impossible !== null) {
    lines.push(
      `${impossible} cannot be updated through the API. Look at the platform whether it has them as it should.`,
      '  To settle one: dpp-sync replay --form --key KEY, which blocks it, then dpp-sync settle KEY with --delivered or --ignore',
      '  To settle all of a kind: dpp-sync replay --form --kind KIND, then dpp-sync settle --state blocked --kind KIND',
    );
  }
  return lines.length > 0 ? lines : ['No item matches: the platform has them in the form that the profile has now.'];
}

/** The counts in a list, such as `3 products, 1 BOM item`; null if there are none. */
function listed(counts: KindCounts): string | null {
  const parts = ITEM_KINDS.flatMap((kind) => ((counts[kind] ?? 0) > 0 ? [countKind(counts[kind] ?? 0, kind)] : []));
  return parts.length === 0 ? null : parts.join(', ');
}
