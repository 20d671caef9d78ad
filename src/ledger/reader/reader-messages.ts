// The messages between the main thread and the reading thread.

import type { WireForms } from '../../domain/delivery/wire-form.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import { Fault, messageOf } from '../../lib/errors.ts';

/** The data with which the reading thread is started. */
export interface ReaderData {
  file: string;
  /** The id of the ledger that the main thread has open. */
  ledgerId: string;
  /** The forms in which the profile sends items. A reload does not change them. */
  forms: WireForms;
  /**
   * Whether the thread reads what lists need in memory. Otherwise the thread reads it at the first question for a list.
   */
  warms: boolean;
}

export interface Question {
  id: number;
  view: keyof DashboardViews;
  args: unknown[];
  /** The rules at the time of the question, because a reload of the config may change them. */
  passportRules: PassportRules;
}

/** Asks the thread to close the ledger and to end, after the questions before it. */
export interface EndRequest {
  end: true;
}

/**
 * An error in a form that can be sent to another thread. A fault keeps its code, and any other error keeps its stack.
 */
type SentError =
  | { type: 'fault'; code: string; exitCode: number; message: string; path?: string; suggestion?: string }
  | { type: 'defect'; message: string; stack: string };

export type Answer = { id: number } & ({ ok: true; value: unknown } | { ok: false; error: SentError });

export function toSent(error: unknown): SentError {
  if (!(error instanceof Fault)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { type: 'defect', message: messageOf(error), stack };
  }
  const { code, exitCode, message, path, suggestion } = error;
  return {
    type: 'fault',
    code,
    exitCode,
    message,
    ...(path === undefined ? {} : { path }),
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

export function fromSent(error: SentError): Error {
  if (error.type === 'fault') {
    const { code, exitCode, message, path, suggestion } = error;
    return new Fault(code, exitCode, message, {
      ...(path === undefined ? {} : { path }),
      ...(suggestion === undefined ? {} : { suggestion }),
    });
  }
  const defect = new Error(error.message);
  defect.stack = error.stack;
  return defect;
}
