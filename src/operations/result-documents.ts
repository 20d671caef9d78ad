// The forms that the documents of several operations share. Times in documents are ISO 8601 in UTC.

import type { Reason } from '../domain/delivery/stored-reason.ts';
import type { GuardedRead } from '../domain/ports/intake.ts';
import type { ContactAttention } from '../domain/ports/ledger/ledger-views.ts';
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
  const { runs, items, passports, requests, durationMs, warnings, fault, guarded, missing, missingOutcomes, accepted } =
    report;
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

function acceptedDocument({ guarded, adopted }: Acceptance): object {
  return { guarded: guarded.map(guardedDocument), adopted };
}
