import type { Notice } from '../../../domain/alert-settings.ts';

/** A way to send notices to people. */
export interface Channel {
  id: string;
  type: 'webhook' | 'email' | 'exec';
  /**
   * Sends a notice once.
   *
   * @throws Error whose message is a full sentence without secrets, as far as the channel knows them
   */
  send(notice: Notice, signal: AbortSignal): Promise<void>;
  /**
   * Checks as far as possible whether a notice could be sent, without sending one.
   *
   * @throws Error as `send` does
   */
  check(signal: AbortSignal): Promise<void>;
}

/** No channel may take longer than this for one notice. */
export const SEND_MS = 30_000;

/** The form of a notice that the generic webhook and a program get. */
export function noticeDocument(notice: Notice): object {
  const { alert, status, condition, source, stream, title, message, since, host } = notice;
  const at = new Date(since).toISOString();
  return { application: 'dpp-sync', host, alert, status, condition, source, stream, title, message, since: at };
}

/** The messages of an error and of its causes, as sentences. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
  return /[.!?]$/.test(cause) ? cause : `${cause}.`;
}
