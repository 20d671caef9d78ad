import { namedMembers } from '../../../admin/audit.ts';
import type {
  ActionRow,
  BomNode,
  ItemDetail,
  RowInQuarantine,
  Why,
  WhyStep,
} from '../../../domain/ports/ledger/dashboard-views.ts';
import type { PassportView, TimelineEntry } from '../../../domain/ports/ledger/ledger-views.ts';
import { actionWords } from '../../../domain/words/actions.ts';
import { eventWord, stateWord } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { card, commandLine, keyValues, pageHead, withCode } from '../../parts.ts';
import { counted, formatCount, KINDS, stateBadge, timeOf } from '../../shown-values.ts';
import { recordTable } from '../attention/cause-page.ts';
import { causePath, itemPath, itemsPath } from '../links.ts';
import { comparison, valueOf } from './comparison.ts';

interface ItemPageView {
  item: ItemDetail;
  /** The passport, for a product or its passport; null for other items. */
  passport: PassportView | null;
  /** Why the passport is published or not; null if this kind has no answer, or if it could not be read. */
  why: Why | null;
  /** The rows in quarantine that `why` is about. */
  quarantined: readonly RowInQuarantine[];
  /** Why nothing can be sent now; null if sending is possible. */
  hold: string | null;
  /** The actions of people that name the item. */
  actions: readonly ActionRow[];
  /** Links and forms for the passport; null for other kinds. */
  passportActions: Html | null;
}

/** The page with everything about one item. */
export function itemPage({ item, passport, why, quarantined, hold, actions, passportActions }: ItemPageView): Html {
  const { kind, key, naturalKey, name } = item;
  const isPassport = kind === 'passport';
  return html`${pageHead(html`${KINDS[kind].one} ${naturalKey ?? key}`, { lead: name ?? '' })}
${why === null ? null : whyCard(why, quarantined, hold)}
${card('State', facts(item))}
${passport === null ? null : card('Passport', passportPart(item, passport, passportActions))}
${isPassport ? null : card('Source, mapping and platform', comparison(item))}
${refs(item)}
${item.bom === null ? null : card('BOM items', bomTree(item.bom))}
${card('What happened', timelineOf(item.timeline, actions))}`;
}

/** The page of a product of which the ledger only has rows, for example rows in quarantine. */
export function rowsPage(why: Why, quarantined: readonly RowInQuarantine[], hold: string | null): Html {
  const records = quarantined.map(({ record }) => record);
  return html`${pageHead(html`${KINDS.product.one} ${why.key}`, { lead: 'No row makes this product yet.' })}
${whyCard(why, quarantined, hold)}
${records.length === 0 ? null : card(records.length === 1 ? 'Row with an error' : 'Rows with an error', recordTable(records))}`;
}

const MISSING_BECAUSE = {
  row_gone: 'The row of the item is gone from the source.',
  row_changed: 'No row of the source makes the item any more.',
} as const;

/** Says that nothing has to be done about a missing item any more, and why. */
function decidedText({ kind, missingAccepted, missingDecided, neverArrived }: ItemDetail): string {
  if (neverArrived) return ' The platform never got it, so nothing has to be done.';
  if (missingAccepted) return ' A person has accepted that.';
  if (!missingDecided) return '';
  const why = kind === 'bom_item' ? 'It is decided with its missing product' : 'Its passport is not public';
  return ` ${why}, so nothing has to be done.`;
}

function facts(item: ItemDetail): Html {
  const { state, missing, missingBecause, released, reason, record, advice } = item;
  const gone = missing ? `${MISSING_BECAUSE[missingBecause ?? 'row_gone']}${decidedText(item)}` : null;
  const isWell = state === 'delivered' && !missing && !released && (record?.quarantined ?? null) === null;
  const fields = Object.entries(reason?.fields ?? {});
  return html`${keyValues([
    ['state', html`${stateBadge(state)}${missing || released ? html` ${stateBadge('missing')}` : null}`],
    ['since', timeOf(item.since)],
    [
      'why',
      reason === null
        ? null
        : html`${withCode(reason.message)}${reason.status === undefined ? null : html` <span class="quiet">(HTTP ${reason.status})</span>`}`,
    ],
    [
      'by field',
      fields.length === 0
        ? null
        : html`<ul>${fields.map(([field, message]) => html`<li>${field}: ${message}</li>`)}</ul>`,
    ],
    ['means', isWell ? null : html`${advice.title} ${advice.meaning}`],
    ['what to do', isWell ? null : html`${withCode(advice.cure)}${commandLine(advice.command)}`],
    ['missing', gone],
    [
      'released',
      released ? 'No row makes the item any more, and the guard has not decided whether the item is missing.' : null,
    ],
    [
      'form',
      item.inOtherForm.length === 0
        ? null
        : html`Sent in another form than the profile has now: ${item.inOtherForm.join(', ')}.`,
    ],
    ['next attempt', timeOf(item.dueAt)],
    [
      'source',
      item.source === null
        ? null
        : html`<a href="${itemsPath({ source: item.source, kind: item.kind })}">${item.source}</a>${record === null ? null : `/${record.stream}`}`,
    ],
    ['key', item.key],
    ['id at the platform', item.remoteId === null ? null : valueOf(item.remoteId)],
    ['revision', formatCount(item.revision)],
    ['attempts', item.attempts === 0 ? null : formatCount(item.attempts)],
  ])}`;
}

const WANTED_BY = {
  policy: 'because the config says so for complete products',
  person: 'because a person has asked for it',
  missing: 'because the source no longer has the product',
} as const;

function passportPart({ kind, key }: ItemDetail, passport: PassportView, actions: Html | null): Html {
  const { state, acknowledged, desired, reason, blockers } = passport;
  const other =
    kind === 'passport'
      ? html`<a href="${itemPath('product', key)}">Its product</a>`
      : html`<a href="${itemPath('passport', key)}">What happened to the passport</a>`;
  return html`${keyValues([
    ['state', stateBadge(state)],
    ['at the platform', acknowledged === null || acknowledged === state ? null : stateBadge(acknowledged)],
    ['wanted', desired === null ? null : html`${stateBadge(desired.status)} ${WANTED_BY[desired.because]}`],
    ['why', reason === null ? null : withCode(reason.message)],
    [
      'waits for',
      blockers.length === 0 || acknowledged === 'published'
        ? null
        : html`<ul>${blockers.map((blocker) => html`<li>${withCode(blocker)}</li>`)}</ul>`,
    ],
  ])}${state === 'none' ? null : html`<p>${other}</p>`}${actions}`;
}

function refs({ refs: to, usedBy }: ItemDetail): Html | null {
  if (to.length === 0 && usedBy.count === 0) return null;
  const outgoing = to.map(
    ({ role, kind: ofKind, key, state }) =>
      html`<li>${role} ${state === null ? html`${key} <span class="badge warn">no source gives it</span>` : html`<a href="${itemPath(ofKind, key)}">${key}</a> ${stateBadge(state)}`}</li>`,
  );
  const incoming = usedBy.rows.map(
    ({ role, kind: ofKind, key, naturalKey, name, state }) =>
      html`<li>${KINDS[ofKind].one} <a href="${itemPath(ofKind, key)}">${naturalKey ?? key}</a>${name === null ? null : ` ${name}`} <span class="quiet">as ${role}</span> ${state === null ? null : stateBadge(state)}</li>`,
  );
  const more = usedBy.count - usedBy.rows.length;
  return card('Refers to, and used by', [
    html`<div class="sides"><section><h3>Refers to</h3>${to.length === 0 ? html`<p class="quiet">The item refers to no other item.</p>` : html`<ul>${outgoing}</ul>`}</section>`,
    html`<section><h3>Used by</h3>${usedBy.count === 0 ? html`<p class="quiet">Nothing.</p>` : html`<ul>${incoming}</ul>`}${more > 0 ? html`<p class="quiet">and ${counted(more, 'more item')}</p>` : null}</section></div>`,
  ]);
}

const STANDINGS: Record<WhyStep['standing'], { name: string; tone: string }> = {
  ok: { name: 'done', tone: 'good' },
  stop: { name: 'stops it', tone: 'bad' },
  waits: { name: 'waits', tone: 'warn' },
  unknown: { name: 'not known yet', tone: 'idle' },
};

/**
 * Why a passport is not published: the answer in one sentence, then the steps from the source's row to the passport.
 *
 * @param rows the rows in quarantine that the steps are about
 * @param hold what keeps everything from being sent now; null if nothing does
 */
export function whyCard(why: Why, rows: readonly RowInQuarantine[], hold: string | null): Html {
  const title = why.published ? 'It is published' : 'Why is this not published?';
  const causes = new Map(rows.map(({ record, cause }) => [record.id, cause.id]));
  const steps = why.steps.map((one) => stepOf(one, causes));
  return card(title, [
    html`<p class="answer">${withCode(why.answer)}</p>`,
    hold === null || why.published ? null : html`<p class="warn">${hold}</p>`,
    steps.length === 0
      ? null
      : html`<details${why.published ? null : html` open`}><summary>From the row to the passport</summary><ol class="steps">${steps}</ol></details>`,
  ]);
}

function stepOf(
  { standing, text, command, item, record, cause: own }: WhyStep,
  causes: ReadonlyMap<number, string>,
): Html {
  const { name, tone } = STANDINGS[standing];
  const link =
    item === null ? null : html` <a href="${itemPath(item.kind, item.key)}">${KINDS[item.kind].one} ${item.key}</a>`;
  const cause = record === null ? undefined : causes.get(record);
  const quarantined = cause === undefined ? null : html` <a href="${causePath(cause)}">Row with an error</a>`;
  const missing = own === null ? null : html` <a href="${causePath(own)}">All items that wait for such a part</a>`;
  return html`<li class="${standing}"><span class="badge ${tone}">${name}</span> <div>${withCode(text)}${link}${quarantined}${missing}${commandLine(command)}</div></li>`;
}

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

/** How many entries are shown at first. The older ones are in a section that has to be opened. */
const SHOWN = 50;

/** A line of the timeline: what happened to the item, or what a person asked for. */
interface Line {
  at: number;
  text: Html;
}

/** The events of an item and the actions of people about it, the newest first. */
export function timelineOf(entries: readonly TimelineEntry[], actions: readonly ActionRow[]): Html {
  const lines = [...entries.map(entryLine), ...actions.map(actionLine)];
  if (lines.length === 0) return html`<p class="quiet">Nothing has happened to this item yet.</p>`;
  // Lines are sorted by time. Of two lines with the same time the action comes first, because it is the cause.
  const newest = lines.toSorted((a, b) => a.at - b.at).toReversed();
  const rest = newest.slice(SHOWN);
  return html`<ol class="timeline">${newest.slice(0, SHOWN).map(lineOf)}</ol>${
    rest.length === 0
      ? null
      : html`<details><summary>${counted(rest.length, 'earlier entry', 'earlier entries')}</summary><ol class="timeline">${rest.map(lineOf)}</ol></details>`
  }`;
}

function entryLine({ at, what, operation, revision, detail }: TimelineEntry): Line {
  const of =
    operation === null
      ? null
      : html` <span class="quiet">${operation}${revision === null ? null : `, revision ${revision}`}</span>`;
  return { at, text: html`<b>${eventWord(what)}</b>${of}${detail === null ? null : html`<br />${detail}`}` };
}

function actionLine({ at, who, via, action, detail, outcome }: ActionRow): Line {
  const { status } = detail;
  const wanted = typeof status === 'string' ? `: ${stateWord(status)}` : '';
  return {
    at,
    text: html`<b>${who}</b> ${actionWords(action)}${wanted} <span class="quiet">(${via})</span>${outcome === null ? null : html`<br />${outcome}`}`,
  };
}

function lineOf({ at, text }: Line): Html {
  const iso = new Date(at).toISOString();
  return html`<li><time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>
<div>${text}</div></li>`;
}

/** The actions of people that name the item, by its key or its natural key, or its delivery, which has the id of the item. */
export function actionsAbout(
  { id, key, naturalKey }: { id: number; key: string; naturalKey: string | null },
  actions: readonly ActionRow[],
): ActionRow[] {
  const named = new Set([key, naturalKey]);
  const byId = new Set([String(id)]);
  return actions.filter(({ detail }) =>
    Object.entries(detail).some(([name, value]) => {
      const ofDelivery = name === 'delivery' || name === 'deliveries';
      const names = ofDelivery ? byId : named;
      const text = ofDelivery && typeof value === 'number' ? String(value) : value;
      return (
        typeof text === 'string' && (names.has(text) || namedMembers(text).members.some((part) => names.has(part)))
      );
    }),
  );
}
