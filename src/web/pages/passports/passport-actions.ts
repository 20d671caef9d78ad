import type { PassportStatus } from '../../../domain/passport.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';
import { csrfField } from '../../parts.ts';

export interface PassportAt {
  product: string;
  naturalKey: string | null;
  remoteId: JsonValue;
  /** The status that the API has acknowledged. */
  acknowledged: PassportStatus | null;
}

/** Links to the public page and the PDF, and for an operator the forms to publish or withdraw. */
export function passportActions(
  { product, naturalKey, remoteId, acknowledged }: PassportAt,
  { csrf, operates, template }: { csrf: string; operates: boolean; template: string | null },
): Html {
  const isPublic = acknowledged === 'published';
  const link = isPublic ? publicLink(publicUrl(template, { sku: naturalKey, id: remoteId })) : null;
  const pdf = acknowledged === null || remoteId === null ? null : html`<a href="${pdfPath(product)}">PDF</a>`;
  const status = isPublic ? 'unpublished' : 'published';
  const act = operates
    ? html`<form method="post" action="/passports/confirm">${csrfField({ csrf })}<input type="hidden" name="product" value="${product}" /><button name="status" value="${status}" class="${isPublic ? 'grave' : ''}">${isPublic ? 'Withdraw…' : 'Publish…'}</button></form>`
    : null;
  return html`<div class="actions wrap">${link}${pdf}${act}</div>`;
}

/** The address of a passport's PDF. The key is in the query, because it may have any character. */
export function pdfPath(product: string): string {
  return `/passports/pdf?${new URLSearchParams({ key: product }).toString()}`;
}

/**
 * The address of a public passport by the config's template; null if the template contains a value that is not known
 * yet.
 */
export function publicUrl(template: string | null, { sku, id }: { sku: string | null; id: JsonValue }): string | null {
  if (template === null) return null;
  const values: Record<string, string | null> = {
    sku,
    id: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
  };
  let isKnown = true;
  const url = template.replace(/\{(sku|id)\}/g, (_, name: string) => {
    const value = values[name] ?? null;
    if (value === null) isKnown = false;
    return encodeURIComponent(value ?? '');
  });
  return isKnown ? url : null;
}

/** The link to a public passport. It opens in a new page, which gets no information about this page. */
export function publicLink(url: string | null): Html | null {
  return url === null ? null : html`<a href="${url}" target="_blank" rel="noopener noreferrer">Public page</a>`;
}
