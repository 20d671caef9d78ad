import { type Html, html } from '../html.ts';
import { acceptPath } from './links.ts';

const LOOK = { export: 'Look at what is gone, and decide…', run: 'Look at what it would do, and decide…' } as const;

/** The link to the page on which a person decides about an export or a run that is held. A viewer has no such page. */
export function decideAbout(source: string, what: keyof typeof LOOK, mayDecide: boolean): Html {
  return mayDecide
    ? html`<a class="button" href="${acceptPath(source)}">${LOOK[what]}</a>`
    : html`<span class="quiet">An operator decides about it.</span>`;
}
