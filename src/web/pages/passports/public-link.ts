import type { JsonValue } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';

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
