// What a person has typed into a form that was not carried out, because the login of the form's page was over. It is kept through the
// login and shown in the form again. Nothing is carried out by itself: the person looks at the form and sends it.

import { escapeUTF8 } from 'entities/escape';
import { Html } from '../html.ts';
import { ownPath } from './fields.ts';
import type { Notice } from './route.ts';

/** A form that was not carried out. */
export interface Draft {
  /** The page with the form: a path of this server. */
  page: string;
  /** Where the form is sent: a path of this server. */
  action: string;
  fields: readonly (readonly [name: string, value: string])[];
}

/** A longer form is not kept (I9). */
export const DRAFT_BYTES_MAX = 16 * 1024;

/** I7: these fields are never kept. The token against forged requests is another one after the login. */
const NEVER_KEPT = /csrf|password|token|secret/i;

/** @param page null if the form was not sent from a page of this server. Then there is no form to go back to */
export function draftOf(page: string | null, action: string, form: URLSearchParams): Draft | null {
  const fields = [...form].filter(([name]) => !NEVER_KEPT.test(name));
  const isLong = new URLSearchParams(fields).toString().length > DRAFT_BYTES_MAX;
  return page === null || fields.length === 0 || isLong ? null : { page, action, fields };
}

/** A draft as the value of a hidden field of the page to log in. */
export function draftText({ action, fields }: Draft): string {
  return `${action}?${new URLSearchParams(fields.map(([name, value]): [string, string] => [name, value])).toString()}`;
}

/** The draft in such a value; null if there is none. */
export function draftIn(text: string | null, page: string): Draft | null {
  const path = ownPath(text);
  const end = path.indexOf('?');
  return end < 0 ? null : draftOf(page, path.slice(0, end), new URLSearchParams(path.slice(end)));
}

/**
 * Writes what a person has typed into the form of a page, as far as the form has fields for it. Hidden fields keep the values of the
 * page, because they say what the page shows now.
 */
export function withDraft({ markup }: Html, { action, fields }: Draft): { body: Html; notice: Notice } {
  const begin = markup.indexOf(`<form class="stack" method="post" action="${escapeUTF8(action)}"`);
  const end = markup.indexOf('</form>', begin);
  if (begin === -1 || end === -1) {
    return { body: new Html(markup), notice: { text: lostText(fields), tone: 'warn' } };
  }
  const values = new Map(fields);
  const form = markup
    .slice(begin, end)
    .replace('<form ', '<form data-edited ')
    .replace(/(<textarea\b[^>]*\bname="([^"]*)"[^>]*>)[^<]*/g, (all, tag: string, name: string) => {
      const value = values.get(name);
      // Browsers leave out a line break at the beginning.
      return value === undefined ? all : `${tag}\n${escapeUTF8(value)}`;
    })
    .replace(/<input\b(?![^>]*\btype=)[^>]*\bname="([^"]*)"[^>]*>/g, (all, name: string) => {
      const value = values.get(name);
      if (value === undefined) return all;
      return all.replace(/ value="[^"]*"/, '').replace(/ ?\/?>$/, ` value="${escapeUTF8(value)}" />`);
    });
  const body = new Html(markup.slice(0, begin) + form + markup.slice(end));
  return { body, notice: { text: KEPT, tone: 'warn' } };
}

const KEPT =
  'Your form was not sent, because your login was over. It has what you typed: look at it, and send it again.';

function lostText(fields: Draft['fields']): string {
  const typed = fields.map(([name, value]) => `${name}: ${value}`).join('; ');
  return `Your form was not sent, because your login was over. Look at the page, and send it again if it is still there. It had: ${typed}`;
}
