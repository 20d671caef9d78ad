import { type Html, html } from '../html.ts';
import type { WebRequest } from '../server/route.ts';

/** The hidden field that each form with `method="post"` needs. */
export function csrfField({ csrf }: Pick<WebRequest, 'csrf'>): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}" />`;
}
