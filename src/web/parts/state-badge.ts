import { type Html, html } from '../html.ts';

type Tone = 'good' | 'warn' | 'bad' | 'idle';

/** The words that pages use for states, and how serious each state is. The word is always shown with the colour. */
const STATES: Record<string, { name: string; tone: Tone }> = {
  delivered: { name: 'delivered', tone: 'good' },
  due: { name: 'due', tone: 'idle' },
  sending: { name: 'sending', tone: 'idle' },
  waiting: { name: 'waiting', tone: 'idle' },
  superseded: { name: 'superseded', tone: 'idle' },
  in_doubt: { name: 'unconfirmed', tone: 'warn' },
  blocked: { name: 'blocked', tone: 'bad' },
  rejected: { name: 'rejected', tone: 'bad' },
  parked: { name: 'parked', tone: 'bad' },
  quarantine: { name: 'quarantined', tone: 'bad' },
  quarantined: { name: 'quarantined', tone: 'bad' },
  unconfirmed: { name: 'unconfirmed', tone: 'warn' },
  missing: { name: 'missing', tone: 'warn' },
  none: { name: 'none', tone: 'idle' },
  incomplete: { name: 'incomplete', tone: 'warn' },
  initialized: { name: 'initialised', tone: 'idle' },
  published: { name: 'published', tone: 'good' },
  unpublished: { name: 'unpublished', tone: 'idle' },
  complete: { name: 'complete', tone: 'good' },
  failed: { name: 'failed', tone: 'bad' },
  guarded: { name: 'held by the guard', tone: 'warn' },
  interrupted: { name: 'interrupted', tone: 'warn' },
  running: { name: 'running', tone: 'idle' },
};

/** The word for a state on pages. */
export function stateName(state: string): string {
  return STATES[state]?.name ?? state.replaceAll('_', ' ');
}

export function stateBadge(state: string): Html {
  return html`<span class="badge ${STATES[state]?.tone ?? 'idle'}">${stateName(state)}</span>`;
}
