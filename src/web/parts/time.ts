import { type Html, html } from '../html.ts';

/**
 * A time. It is written in UTC, and the script of the page writes it in the zone of the browser. The title has the
 * exact time.
 *
 * @param at milliseconds since the epoch; null becomes nothing
 */
export function timeOf(at: number | null): Html | null {
  if (at === null) return null;
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** A length of time in at most two units: `4 s`, `3 min`, `5 h 20 min`, `12 days`. */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 72) return `${Math.round(hours / 24)} days`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}
