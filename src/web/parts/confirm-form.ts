import { type Html, html } from '../html.ts';
import type { WebRequest } from '../server/route.ts';
import { csrfField } from './csrf-field.ts';

export interface ConfirmForm {
  action: string;
  /** Hidden fields that name the target of the action. */
  fields?: Record<string, string> | readonly (readonly [string, string])[];
  /** The text of the button, with the count: `Replay 9 records`. */
  button: string;
  /** What will happen, as full sentences. With this text the button is in a section that has to be opened first. */
  text?: Html | string;
  /** Further controls, such as fields for a note. */
  controls?: Html;
  tone?: 'usual' | 'plain' | 'grave';
}

/** A form with one button that acts. If there is a `text`, a first click shows it and a second click acts. */
export function confirmForm(request: Pick<WebRequest, 'csrf'>, options: ConfirmForm): Html {
  const { action, fields = [], button, text, controls = null, tone = 'usual' } = options;
  const entries: readonly (readonly [string, string])[] = isPairs(fields) ? fields : Object.entries(fields);
  const hidden = entries.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
  const look = tone === 'usual' ? '' : tone;
  const form = (sentence: Html | string | null) =>
    html`<form class="confirm" method="post" action="${action}">${csrfField(request)}${hidden}${
      sentence === null ? null : html`<p>${sentence}</p>`
    }${controls}<button class="${look}">${button}</button></form>`;
  if (text === undefined) return form(null);
  return html`<details class="confirm"><summary class="button ${look}">${button}…</summary>${form(text)}</details>`;
}

function isPairs(
  fields: Record<string, string> | readonly (readonly [string, string])[],
): fields is readonly (readonly [string, string])[] {
  return Array.isArray(fields);
}
