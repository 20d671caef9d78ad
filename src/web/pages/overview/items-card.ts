import { ITEM_KINDS, type ItemKind } from '../../../domain/item.ts';
import {
  type ItemCounts,
  type ItemState,
  PASSPORT_STATES,
  type PassportCounts,
} from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { countLink, ITEM_STATES, KINDS, PASSPORT_MEANS, stateName } from '../../shown-values.ts';
import { itemsPath, passportsPath } from '../links.ts';

const STATES = Object.keys(ITEM_STATES) as ItemState[];

/** How many items are in each state, by kind. Each figure links to its items. */
export function itemsCard(items: ItemCounts): Html {
  const heads = STATES.map(
    (state) => html`<th scope="col" class="number" title="${ITEM_STATES[state]}">${stateName(state)}</th>`,
  );
  const rows = ITEM_KINDS.map((kind) => itemRow(kind, items[kind]));
  return html`<section class="card" aria-labelledby="items"><h2 id="items">Items</h2><div class="scroll" tabindex="0" role="region" aria-labelledby="items"><table class="stacks"><thead><tr><th scope="col">kind</th><th scope="col" class="number">all</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function itemRow(kind: ItemKind, counts: ItemCounts[ItemKind]): Html {
  const all = STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const cells = STATES.map(
    (state) =>
      html`<td class="number" data-label="${stateName(state)}">${countLink(counts[state] ?? 0, itemsPath({ kind, state }))}</td>`,
  );
  return html`<tr><th scope="row">${KINDS[kind].many}</th><td class="number" data-label="all">${countLink(all, itemsPath({ kind }))}</td>${cells}</tr>`;
}

/** How many passports are in each state; null if no passports are wanted. */
export function passportsCard(passports: PassportCounts): Html | null {
  const states = PASSPORT_STATES.filter((state) => state !== 'none');
  if (states.every((state) => (passports[state] ?? 0) === 0)) return null;
  const heads = states.map(
    (state) => html`<th scope="col" class="number" title="${PASSPORT_MEANS[state]}">${stateName(state)}</th>`,
  );
  const cells = states.map(
    (state) =>
      html`<td class="number" data-label="${stateName(state)}">${countLink(passports[state] ?? 0, passportsPath({ state }))}</td>`,
  );
  return html`<section class="card" aria-labelledby="passports"><h2 id="passports">Passports</h2><div class="scroll" tabindex="0" role="region" aria-labelledby="passports"><table class="stacks"><thead><tr>${heads}</tr></thead><tbody><tr>${cells}</tr></tbody></table></div></section>`;
}
