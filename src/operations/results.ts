// What operations answer: the forms that the documents of several of them share, and their results in sentences. Times in documents
// are ISO 8601 in UTC.

import type { WaitingRun } from '../domain/approval.ts';
import type { Reason } from '../domain/delivery/stored-reason.ts';
import type { GuardedRead } from '../domain/ports/guarded-intake.ts';
import type { ContactAttention } from '../domain/ports/ledger/ledger-standing.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import { causesOf } from '../observe/standing.ts';
import type { Failure } from './outcome-fault.ts';
import type { Acceptance, Synced } from './runtime.ts';

function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** A read that the guard holds. */
function guardedDocument({ since, ...read }: GuardedRead): object {
  return { ...read, since: isoTime(since) };
}

/** A value with its reason, which may have the time since when the API has refused or not answered. */
function withReason<Of extends { reason: Reason | null }>(of: Of): object {
  if (of.reason?.since === undefined) return of;
  return { ...of, reason: { ...of.reason, since: isoTime(of.reason.since) } };
}

/** The messages of the guard, each with its stream. */
export function guardWarnings(guarded: readonly GuardedRead[]): string[] {
  return guarded.map(({ source, stream, message }) => `${source}/${stream}: ${message}`);
}

/** The document about the open questions of first contact, and about what was taken without proof, for scripts. */
export function contactDocument({ adopted, parts, unproven }: ContactAttention): object {
  return { adopted, unansweredParts: parts, unproven };
}

export interface ErrorDocument {
  code: string;
  path: string | null;
  message: string;
}

export function errorDocument({ code, path, message, suggestion }: Failure): ErrorDocument {
  return { code, path, message: withSuggestion(message, suggestion) };
}

function withSuggestion(message: string, suggestion: string | null): string {
  return suggestion === null || message.includes(suggestion) ? message : `${message} ${suggestion}`;
}

/** The document of a sync's result, which the interface contract defines, without `ok`. */
export function syncDocument(report: Omit<Synced, 'attention'>) {
  const {
    runs,
    items,
    passports,
    requests,
    durationMs,
    warnings,
    fault,
    guarded,
    held,
    missing,
    missingOutcomes,
    accepted,
  } = report;
  const { sent, throttled, retried } = requests;
  return {
    runs: runs.map(({ source, stream, read, unchanged, changed, quarantined, excluded, missing, missedByChanges }) => ({
      source,
      stream,
      read,
      unchanged,
      changed,
      quarantined,
      excluded,
      missing,
      ...(missedByChanges === null ? {} : { missedByChanges }),
    })),
    items,
    passports,
    requests: { sent, throttled, retried },
    durationMs: Math.round(durationMs),
    // `warnings` also has the messages of the guard, because scripts may read them there.
    warnings: [...guardWarnings(guarded), ...warnings],
    guarded: guarded.map(guardedDocument),
    held: held.map(heldDocument),
    missing,
    missingOutcomes,
    paddedKeys: report.paddedKeys,
    suspended: report.suspended.map(withReason),
    refused: report.refused.map(withReason),
    causes: causesOf(report),
    ...(accepted === null ? {} : { accepted: acceptedDocument(accepted) }),
    ...(fault === null ? {} : { error: errorDocument(fault) }),
  };
}

function acceptedDocument({ guarded, held, adopted }: Acceptance): object {
  return { guarded: guarded.map(guardedDocument), held: held.map(heldDocument), adopted };
}

function heldDocument({ source, runId, at, excesses, effects }: WaitingRun): object {
  return { source, run: runId, since: isoTime(at), excesses, effects };
}

/** A part of a result for people. The command line prints it, and the dashboard shows it. */
export interface Sentence {
  text: string;
  /** `result`: what came of the operation. `warning`: something is left for a person. */
  tone: 'result' | 'note' | 'warning';
  /** The list that has what the sentence is about. The command line names its command, and the dashboard links to it. */
  list?: 'quarantine' | 'unconfirmed' | 'incomplete';
}

/** The sentences of a list without those that do not apply. */
export function sentencesOf(...sentences: readonly (Sentence | false)[]): Sentence[] {
  return sentences.filter((sentence) => sentence !== false);
}

/** How many of the selected items an answer of a person has settled. */
export function settledText(settled: number, selected: number): string {
  return `${counted(settled, 'item')} of ${formatCount(selected)} settled.`;
}

/** Why the last run of a source failed. */
export function failedRunText({ source, error }: { source: string; error: string }): string {
  return `The last run of ${source} failed: ${error}`;
}

/**
 * Says how many deliveries an answer of a person has made due.
 *
 * @param goesOn true if a daemon sends them now
 */
export function releasedSentences(released: number, goesOn: boolean): Sentence[] {
  const [are, them] = released === 1 ? ['is', 'it'] : ['are', 'them'];
  const sends = goesOn ? `and the daemon sends ${them}` : `and \`dpp-sync sync\` sends ${them}`;
  const text = `${counted(released, 'write')} that waited for this ${are} due now, ${sends}.`;
  return sentencesOf(released > 0 && { text, tone: 'note' });
}
