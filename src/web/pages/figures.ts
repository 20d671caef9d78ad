// Numbers, times and words as the pages show them.

import { type Html, html } from '../html.ts';

/** `1,234` */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 product`, `2 products` */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** `0`, `4.2`, `120` */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond));
}

export function time(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** To the second, for a timeline. */
export function exactTime(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** `12 s`, `5 min`, `3 h`, `4 days` */
export function span(ms: number): string {
  if (ms < 950) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** The total of a list, of which counting may have stopped at a bound. */
export function totalText({ count, atLeast }: { count: number; atLeast: boolean }, one: string, many?: string): string {
  return atLeast ? `more than ${plural(count, one, many)}` : plural(count, one, many);
}
