// The results of tasks, in sentences with links. The results come from the operations, in the memory of this process.

import { heldText } from '../../../domain/approval.ts';
import type { BackupFile } from '../../../domain/ports/ledger/care-ledger.ts';
import type { PartsAnswer } from '../../../domain/ports/ledger/contact-ledger.ts';
import { stateWord } from '../../../domain/words/states.ts';
import { exitCodeOf } from '../../../observe/standing.ts';
import type { CauseReplayed, CauseSettled } from '../../../operations/causes.ts';
import type { PassportsOfSelection } from '../../../operations/passports.ts';
import type { Retried, RetriedDelivery } from '../../../operations/queues.ts';
import { type Replayed, replaySentences } from '../../../operations/replay.ts';
import { failedRunText, releasedSentences, type Sentence, settledText } from '../../../operations/results.ts';
import type { Synced } from '../../../operations/runtime.ts';
import { partsSentences, type SettleSelectedResult, selectedSentences } from '../../../operations/settle-selected.ts';
import type { CorrectionResult } from '../../../pipeline/store-page.ts';
import { type Html, html, plainText } from '../../html.ts';
import { withCode } from '../../parts.ts';
import { counted, formatCount } from '../../shown-values.ts';
import type { Task } from '../../tasks.ts';
import { acceptPath, attentionPath, causePath, itemPath, itemsPath, runPath, runsPath } from '../links.ts';
import type { SettingsChecked } from '../settings/check-settings.ts';

type Sentences = readonly (Html | null)[];

/** The result of each operation, by its name. */
interface Results {
  'replay-cause': CauseReplayed;
  replay: Replayed;
  'settle-cause': CauseSettled;
  'settle-selected': SettleSelectedResult;
  'settle-parts': PartsAnswer;
  'correct-rows': CorrectionResult;
  'retry-deliveries': Retried;
  'check-settings': SettingsChecked;
  backup: BackupFile;
  sync: Synced;
  'change-passports': PassportsOfSelection;
}

const TEXTS: { [Name in keyof Results]: (result: Results[Name]) => Sentences } = {
  'replay-cause': causeReplayedText,
  replay: ({ replayed, synced }) => [...paragraphs(replaySentences(replayed, synced === null)), ...syncedText(synced)],
  'settle-cause': causeSettledText,
  'settle-selected': (result) => paragraphs(selectedSentences(result, true)),
  'settle-parts': (answer) => paragraphs(partsSentences(answer)),
  'correct-rows': correctedText,
  'retry-deliveries': retriedText,
  'check-settings': checkedText,
  backup: ({ file, bytes }) => [
    html`<p>The backup was made and verified: <span class="mono">${file}</span>, ${(bytes / 1_000_000).toFixed(1)} MB.</p>`,
  ],
  sync: (synced) => syncedText(synced),
  'change-passports': passportsText,
};

/** True for a result that leaves something to a person, by the name of the operation. */
const LEAVES_SOMETHING: { [Name in keyof Results]?: (result: Results[Name]) => boolean } = {
  'replay-cause': ({ dryRun, left }) => !dryRun && left > 0,
  replay: ({ synced }) => synced !== null && exitCodeOf(synced) !== 0,
  'settle-cause': ({ failedCount, later }) => failedCount + later > 0,
  'settle-selected': ({ left }) => left > 0,
  'correct-rows': ({ quarantined, leftOut, result }) => quarantined + leftOut > 0 || result !== 'complete',
  'retry-deliveries': ({ stillStuck }) => stillStuck > 0,
  'check-settings': ({ streams, queue, api }) =>
    queue.problem !== null || api.problem !== null || streams.some(({ problem }) => problem !== null),
  sync: (synced) => exitCodeOf(synced) !== 0,
  'change-passports': ({ leftCount, later }) => leftCount + later > 0,
};

/** How a task has ended: `failed` also for a run of a source that has failed, `ended` where the result is not kept any more. */
export function endOf({
  name,
  outcome,
}: Pick<Task, 'name' | 'outcome'>): 'running' | 'done' | 'left' | 'failed' | 'ended' {
  if (outcome === null) return 'running';
  if (!outcome.ok) return 'failed';
  if (outcome.result === null) return 'ended';
  if (!hasText(name)) return 'done';
  const { fault = null, failedRuns = [] } = name === 'sync' ? (outcome.result as Partial<Synced>) : {};
  if (fault !== null || failedRuns.length > 0) return 'failed';
  const leaves = LEAVES_SOMETHING[name] as ((result: unknown) => boolean) | undefined;
  return leaves?.(outcome.result) === true ? 'left' : 'done';
}

/** The result of a task that has ended well; null for an operation without sentences. */
export function outcomeText({ name, outcome }: Pick<Task, 'name' | 'outcome'>): Html | null {
  if (outcome?.ok !== true || !hasText(name)) return null;
  if (outcome.result === null) {
    return html`<p class="quiet">The result is not kept any more. The <a href="/audit">audit log</a> has a line about it.</p>`;
  }
  // The result of a task has the type of the operation with its name.
  const text = TEXTS[name] as (result: unknown) => Sentences;
  return html`${text(outcome.result)}`;
}

/** The result of a task as one line, for the audit log. */
export function outcomeLine(task: Pick<Task, 'name' | 'outcome'>): string | null {
  const text = outcomeText(task);
  return text === null ? null : plainText(text);
}

function hasText(name: string): name is keyof Results {
  return Object.hasOwn(TEXTS, name);
}

function causeReplayedText(result: CauseReplayed): Sentences {
  const { cause, title, members, dryRun, usedFormerConfig, replayed, left, synced } = result;
  const former = usedFormerConfig ? formerConfigText() : null;
  const link = html`<a href="${causePath(cause)}">${title}</a>`;
  if (dryRun) {
    const again = html`<p><a href="${causePath(cause)}">Back to the cause, to try the group again</a></p>`;
    return [...paragraphs(replaySentences(replayed, true)), former, again];
  }
  const rest =
    left === 0
      ? html`<p class="good"><b>Nothing is stuck any more for this cause: ${title}</b></p>`
      : html`<p class="warn"><b>${formatCount(left)} of ${formatCount(members)} ${left === 1 ? 'is' : 'are'} still stuck for the same cause:</b> ${link}</p>`;
  const byThemselves = html`<p>A mapping or a lookup table has changed, so dpp-sync has mapped the rows again.</p>`;
  return [
    rest,
    ...(replayed.records + replayed.unmapped === 0 && left < members
      ? [byThemselves]
      : paragraphs(replaySentences(replayed, false))),
    former,
    ...syncedText(synced),
  ];
}

/** The sentence that a replay adds if the daemon has refused the present config. */
export function formerConfigText(): Html {
  return html`<p class="warn">The daemon has refused the present config, so it used the former mapping: see <a href="/settings">the settings</a>.</p>`;
}

/** The lists that sentences name. */
const LISTS: Record<NonNullable<Sentence['list']>, { path: string; title: string }> = {
  quarantine: { path: attentionPath({ type: 'quarantine' }), title: 'Rows with an error' },
  unconfirmed: { path: attentionPath({ type: 'unconfirmed' }), title: 'Writes without an answer' },
  incomplete: { path: itemsPath({ state: 'incomplete' }), title: 'Incomplete products' },
};

/** Sentences as paragraphs, with links to their lists. */
export function paragraphs(sentences: readonly Sentence[]): Sentences {
  return sentences.map(({ text, tone, list }) => {
    const link = list === undefined ? null : html`<p><a href="${LISTS[list].path}">${LISTS[list].title}</a></p>`;
    if (tone === 'result') return html`<p><b>${text}</b></p>${link}`;
    return tone === 'warning' ? html`<p class="warn">${text}</p>${link}` : html`<p>${text}</p>${link}`;
  });
}

function syncedText(synced: Synced | null): Sentences {
  if (synced === null) return [];
  const { fault, runs, left, requests, attention, failedRuns } = synced;
  const needs = exitCodeOf({ ...synced, fault: null });
  const reads = runs.map(
    ({ source, stream, read, changed, unchanged, quarantined, excluded, guarded }) =>
      html`<li>${source}/${stream}: ${counted(read, 'row')} read, ${formatCount(unchanged)} unchanged, ${formatCount(changed)} changed, ${formatCount(quarantined)} with an error, ${formatCount(excluded)} excluded.${guarded === null ? null : html` <span class="warn">${guarded}</span>`}</li>`,
  );
  const stuck = attention.stuck.map(
    ({ kind, key, naturalKey, reason }) =>
      html`<li><a href="${itemPath(kind, key)}">${naturalKey ?? key}</a>: ${withCode(reason.message)}</li>`,
  );
  return [
    reads.length === 0 ? null : html`<ul>${reads}</ul>`,
    html`<p>${counted(requests.sent, 'request')} ${requests.sent === 1 ? 'was' : 'were'} sent to the platform.${left > 0 ? ` ${counted(left, 'write')} ${left === 1 ? 'is' : 'are'} still to be sent.` : needs === 0 && fault === null ? ' Nothing is left to be sent.' : null}</p>`,
    ...failedRuns.map(
      (run) =>
        html`<p class="bad">${failedRunText(run)} <a href="${runsPath({ source: run.source })}">Its runs</a></p>`,
    ),
    ...synced.held.map(
      (run) =>
        html`<p class="warn">A run of ${run.source} is held: it would make ${heldText(run)}, and nothing of it is stored. <a href="${acceptPath(run.source)}">Look at what it would do, and decide</a></p>`,
    ),
    needs === 0 || stuck.length > 0
      ? null
      : html`<p class="warn">Something is left that dpp-sync does not do by itself, or not yet: <a href="${attentionPath()}">what needs a person</a>.</p>`,
    faultText(fault),
    stuck.length === 0
      ? null
      : html`<p class="warn">What needs a person, the newest first: <a href="${attentionPath()}">all entries</a></p><ul>${stuck}</ul>`,
  ];
}

function causeSettledText(result: CauseSettled): Sentences {
  const { cause, title, members, settled, failed, failedCount, later, released } = result;
  const more = failedCount - failed.length;
  return [
    html`<p><b>${settledText(settled, members)}</b> <a href="${causePath(cause)}">${title}</a></p>`,
    ...paragraphs(releasedSentences(released, true)),
    later === 0
      ? null
      : html`<p class="warn">${counted(later, 'item')} came into this cause, or ${later === 1 ? 'was' : 'were'} refused again, after the page was loaded, and ${later === 1 ? 'was' : 'were'} not settled.</p>`,
    failedCount === 0
      ? null
      : html`<p class="bad">${counted(failedCount, 'item')} could not be settled in this way:</p><ul>${failed.map(
          ({ kind, key, message }) => html`<li><a href="${itemPath(kind, key)}">${key}</a>: ${message}</li>`,
        )}${more > 0 ? html`<li>and ${formatCount(more)} more</li>` : null}</ul>`,
  ];
}

function correctedText({
  runId,
  changed,
  mapped,
  quarantined,
  excluded,
  leftOut,
  result,
}: CorrectionResult): Sentences {
  return [
    html`<p><b>${counted(changed, 'row')} stored:</b> ${formatCount(mapped)} passed, ${formatCount(quarantined)} still ${quarantined === 1 ? 'fails' : 'fail'}, ${formatCount(excluded)} excluded by the mapping. <a href="${runPath(runId)}">Run ${runId}</a></p>`,
    leftOut === 0
      ? null
      : html`<p class="warn">${counted(leftOut, 'row')} ${leftOut === 1 ? 'was' : 'were'} left out, because the source has changed or lost ${leftOut === 1 ? 'it' : 'them'} since you uploaded the file.</p>`,
    result === 'complete'
      ? null
      : html`<p class="warn">The task was stopped before its end. Upload the file again for the other rows.</p>`,
    quarantined === 0
      ? null
      : html`<p><a href="${attentionPath({ type: 'quarantine' })}">What still fails, and why</a></p>`,
    html`<p class="quiet">dpp-sync sends the items that passed. The next export of the source replaces these rows.</p>`,
  ];
}

function retriedText({ needless, replayed, outcomes, delivered, stillStuck, synced }: Retried): Sentences {
  const stuck =
    stillStuck === 0 ? '' : `, and ${formatCount(stillStuck)} still ${stillStuck === 1 ? 'needs' : 'need'} a person`;
  const retried = [
    html`<p><b class="${stillStuck === 0 ? 'good' : 'warn'}">${formatCount(delivered)} of ${counted(outcomes.length, 'delivery', 'deliveries')} arrived${stuck}.</b></p>`,
    ...paragraphs(replaySentences(replayed, false)),
    html`<ul>${outcomes.map(retriedLine)}</ul>`,
  ];
  return [
    ...(outcomes.length === 0 ? [] : retried),
    needless === 0 ? null : html`<p>${counted(needless, 'delivery', 'deliveries')} no longer needed a person.</p>`,
    faultText(synced.fault),
    stillStuck === 0 ? null : html`<p><a href="${attentionPath()}">All that needs a person, by cause</a></p>`,
  ];
}

function retriedLine({ kind, key, naturalKey, operation, state, reason }: RetriedDelivery): Html {
  const standing = state === null ? 'gone' : stateWord(state);
  return html`<li><a href="${itemPath(kind, key)}">${operation} ${naturalKey ?? key}</a>: ${standing}.${reason === null ? null : html` ${withCode(reason)}`}</li>`;
}

function passportsText(result: PassportsOfSelection): Sentences {
  const { selected, status, changed, later, left, leftCount, synced } = result;
  const are = changed === 1 ? 'is' : 'are';
  const lines = left.map(({ asked, key, naturalKey, result, blockers, passport }) => {
    const why = result === 'unknown' ? 'The ledger no longer has this product.' : blockers.join(' ');
    return html`<li><a href="${itemPath('product', key ?? asked)}">${naturalKey ?? asked}</a>: ${why === '' ? withCode(passport?.reason?.message ?? 'The write of the passport is not complete yet.') : withCode(why)}</li>`;
  });
  const more = leftCount - left.length;
  return [
    html`<p><b class="${leftCount === 0 ? 'good' : 'warn'}">${formatCount(changed)} of ${counted(selected, 'passport')} ${are} ${status === 'published' ? 'published' : 'not public'} now.</b></p>`,
    later === 0
      ? null
      : html`<p class="warn">${counted(later, 'passport')} ${later === 1 ? 'has' : 'have'} changed after the page was loaded, and ${later === 1 ? 'was' : 'were'} left.</p>`,
    leftCount === 0
      ? null
      : html`<p>${counted(leftCount, 'passport')} ${leftCount === 1 ? 'is' : 'are'} not:</p><ul>${lines}${more > 0 ? html`<li>and ${formatCount(more)} more</li>` : null}</ul>`,
    faultText(synced.fault),
    html`<p><a href="/passports">Passports</a></p>`,
  ];
}

function checkedText({ streams, queue, api }: SettingsChecked): Sentences {
  const rows = streams.map(
    ({ source, stream, found, warnings, problem }) =>
      html`<li><b>${source}/${stream}</b>: ${found === null ? null : html`<span class="good">${found}</span>`} ${warnings.join(' ')} ${problemText(problem)}</li>`,
  );
  const scopes = Object.entries(api.scopes ?? {}).map(([scope, answer]) => html`<li>${scope}: ${String(answer)}</li>`);
  return [
    html`<h2>Sources</h2><ul>${rows}</ul>`,
    html`<h2>Queue</h2><p>${queue.found} ${queue.warnings.join(' ')} ${problemText(queue.problem)}</p>`,
    html`<h2>API</h2><p>${api.baseUrl}, key <code>${api.key ?? 'none'}</code>${api.plan === null ? null : `, plan: ${api.plan}`}. ${problemText(api.problem)}</p>`,
    scopes.length === 0 ? null : html`<p>Scopes of the key:</p><ul>${scopes}</ul>`,
  ];
}

function problemText(problem: SettingsChecked['queue']['problem']): Html | null {
  return problem === null ? null : html`<span class="bad">${problem.message} ${problem.suggestion}</span>`;
}

/** A failure that has ended the work, with what to do about it. */
function faultText(fault: Synced['fault']): Html | null {
  return fault === null ? null : html`<p>${problemText(fault)}</p>`;
}
