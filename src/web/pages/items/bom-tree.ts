import type { BomNode } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { counted } from '../../parts/count-link.ts';
import { stateBadge } from '../../parts/state-badge.ts';
import { itemPath, itemsPath } from '../links.ts';

/** How many levels are open when the page is loaded. */
const OPEN_LEVELS = 2;

/** The parts of a product as a tree that opens and closes without a script. */
export function bomTree(root: BomNode): Html {
  if (root.children.length === 0 && root.cut === 0) return html`<p class="quiet">The product has no BOM items.</p>`;
  return html`<div class="tree">${branches(root, 1)}</div>`;
}

function branches({ children, cut, key }: BomNode, level: number): Html {
  const rest =
    cut === 0
      ? null
      : html`<li class="quiet">and ${counted(cut, 'more BOM item')}: <a href="${itemsPath({ kind: 'bom_item', search: key })}">search for them</a></li>`;
  return html`<ul>${children.map((child) => html`<li>${branch(child, level)}</li>`)}${rest}</ul>`;
}

function branch(node: BomNode, level: number): Html {
  if (node.children.length === 0 && node.cut === 0) return line(node);
  const count = node.children.length + node.cut;
  return html`${line(node)}<details${level < OPEN_LEVELS ? html` open` : null}><summary class="quiet">${counted(count, 'part')} of ${node.naturalKey ?? node.key}</summary>${branches(node, level + 1)}</details>`;
}

function line({ bomItem, kind, key, naturalKey, name, state, cycle }: BomNode): Html {
  const amount =
    bomItem === null || bomItem.quantity === null
      ? null
      : html`<span class="amount">${bomItem.quantity}${bomItem.unit === null ? '' : ` ${bomItem.unit}`}</span> `;
  // An item that no source gives has no page, so it gets no link.
  const shown = state === null ? html`${key}` : html`<a href="${itemPath(kind, key)}">${naturalKey ?? key}</a>`;
  const part = html`${shown}${name === null ? null : html` ${name}`}`;
  const standing = state === null ? html`<span class="badge warn">no source gives it</span>` : stateBadge(state);
  const own =
    bomItem === null || bomItem.state === 'delivered'
      ? null
      : html` <a class="quiet" href="${itemPath('bom_item', bomItem.key)}">BOM item</a> ${stateBadge(bomItem.state)}`;
  return html`${amount}${part} ${standing}${own}${cycle ? html` <span class="badge bad">contains itself</span>` : null}`;
}
