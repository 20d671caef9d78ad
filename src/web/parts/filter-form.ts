import { type Html, html } from '../html.ts';

export type FilterField =
  | { type: 'search'; name: string; label: string; value: string; placeholder?: string }
  | {
      type: 'select';
      name: string;
      label: string;
      value: string;
      /** The entry for "all" has an empty value. */
      options: readonly { value: string; name: string }[];
    };

/**
 * A form that filters the list below it. The filter is only in the address, so a person can link to a filtered list.
 */
export function filterForm(options: { action: string; fields: readonly FilterField[] }): Html {
  const { action, fields } = options;
  const controls = fields.map((field) => {
    const id = `filter-${field.name}`;
    return html`<div class="field"><label for="${id}">${field.label}</label>${control(field, id)}</div>`;
  });
  return html`<form class="filter" method="get" action="${action}" role="search">${controls}<button type="submit">Show</button></form>`;
}

function control(field: FilterField, id: string): Html {
  if (field.type === 'search') {
    return html`<input id="${id}" type="search" name="${field.name}" value="${field.value}" placeholder="${field.placeholder ?? ''}" autocomplete="off" />`;
  }
  const entries = field.options.map(
    ({ value, name }) =>
      html`<option value="${value}"${value === field.value ? html` selected` : null}>${name}</option>`,
  );
  return html`<select id="${id}" name="${field.name}">${entries}</select>`;
}
