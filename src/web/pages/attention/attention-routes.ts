import { RESOLUTIONS, type Resolution } from '../../../domain/delivery/delivery.ts';
import { isSubjectKind, type SubjectKind } from '../../../domain/item.ts';
import type { Cause } from '../../../domain/ports/ledger/dashboard-views.ts';
import { noteCause, replayCause, settleCause } from '../../../operations/causes.ts';
import { setLookupValue } from '../../../operations/corrections.ts';
import { settleParts } from '../../../operations/settle-selected.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, emptyState, filterForm, pageHead, SHOWN, shownMark, withCode } from '../../parts.ts';
import { mayDo } from '../../server/answers.ts';
import { filterValue, numberOf } from '../../server/fields.ts';
import {
  form,
  get,
  type PageContext,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted, stateBadge } from '../../shown-values.ts';
import { badRequest, notFound, WebFault } from '../../web-fault.ts';
import { attentionPath, causePath, passportsPath } from '../links.ts';
import { type CauseEntry, entriesOf } from './cause-entries.ts';
import { causePage } from './cause-page.ts';
import {
  ALL_CAUSES,
  CAUSE_TYPE_FILTER,
  CAUSE_TYPES,
  effectLine,
  entryId,
  membersText,
  noUploadReason,
  placeText,
  shortened,
  targetOf,
  titleText,
} from './causes.ts';
import { fileRoutes } from './file-routes.ts';
import { lookupNames, lookupRoutes, storeLookupValue } from './lookup-routes.ts';

const LIST_FIELDS = { names: ['type', 'source'], all: ALL_CAUSES };
const MEMBERS_SHOWN = 100;
const TRIED_WITHIN_MS = 2_000;
const LOOK_MS = 50;
const WAIT_MS = 60_000;
const SHOWN_CAUSES_MAX = 1000;

/** The pages for items that need a person: the inbox, one cause with its members, and the actions for a cause. */
export function attentionRoutes(context: PageContext): Route[] {
  const { runtime, reads, people, tasks, clock } = context;

  async function causeOf({ params }: WebRequest): Promise<Cause> {
    const cause = await reads.cause(params['id'] ?? '');
    if (cause === null) {
      throw notFound(
        'Nothing is stuck for this cause any more. The former entries were corrected, or are stuck for another cause.',
      );
    }
    remember(cause);
    return cause;
  }

  /** The causes that people have looked at, so that the page of a solved one says what it was. It is bounded (I9). */
  const shownCauses = new Map<string, Cause>();
  function remember(cause: Cause): void {
    shownCauses.delete(cause.id);
    shownCauses.set(cause.id, cause);
    const [oldest] = shownCauses.keys();
    if (shownCauses.size > SHOWN_CAUSES_MAX && oldest !== undefined) shownCauses.delete(oldest);
  }

  async function inbox(request: WebRequest): Promise<WebAnswer> {
    const { query, person } = request;
    const source = query.get('source') ?? '';
    const type = filterValue(query, 'type', CAUSE_TYPE_FILTER);
    const [causes, parts] = await Promise.all([
      reads.causes({ source: source === '' ? undefined : source, type }),
      reads.unansweredParts(),
    ]);
    const view = {
      causes,
      sources: runtime.config.sources.map(({ id }) => id),
      parts,
      filter: { source, type: type ?? '' },
      mayDecide: mayDo(person, 'operator'),
    };
    return { type: 'page', title: 'Needs attention', at: '/attention', body: inboxPage(view, request) };
  }

  async function onePage(request: WebRequest): Promise<WebAnswer> {
    const { params, query, person, abort } = request;
    const id = params['id'] ?? '';
    const former = shownCauses.get(id);
    if (former !== undefined && (await reads.cause(id)) === null) return solvedPage(former, await context.standing());
    const cause = await causeOf(request);
    const after = query.get('after') ?? undefined;
    const tried = tasks.get(query.get('tried') ?? '');
    const target = await targetOf(cause, runtime, abort);
    const view = {
      cause,
      // If the clock was set back, members may have times that are still to come.
      shownUntil: Math.min(cause.lastSeenAt ?? 0, clock.now()),
      members: await reads.causeMembers(cause.id, {
        after,
        limit: MEMBERS_SHOWN,
        value: query.get('value') ?? undefined,
      }),
      lookups: lookupNames(context, cause.source),
      tried: tried?.name === replayCause.name ? tried : null,
      hasRows: target !== null,
      noUpload: noUploadReason(target),
      mayEdit: mayDo(person, 'editor'),
      mayDecide: mayDo(person, 'operator'),
      query,
    };
    return { type: 'page', title: cause.title, at: '/attention', body: causePage(view, request) };
  }

  async function tryReplay(request: WebRequest): Promise<WebAnswer> {
    const cause = await causeOf(request);
    const by = { who: request.person.name, via: 'web' as const, title: `Test without sending: ${cause.title}` };
    const task = await tasks.start(replayCause, { cause: cause.id, dryRun: true, waitMs: WAIT_MS }, by);
    // Most tries end within a moment, so the request waits for a moment. A longer try is shown while it runs.
    const begin = clock.ticks();
    while (tasks.get(task.id)?.endedAt === null && clock.ticks() - begin < TRIED_WITHIN_MS) {
      await clock.sleep(LOOK_MS, request.abort);
      if (request.abort.aborted) break;
    }
    return { type: 'redirect', to: `${causePath(cause.id)}?tried=${task.id}` };
  }

  async function replay(request: WebRequest): Promise<WebAnswer> {
    const cause = await causeOf(request);
    const title = `Another try of ${membersText(cause)}: ${cause.title}`;
    const asked = { cause: cause.id, dryRun: false, waitMs: WAIT_MS };
    return startTask(tasks, replayCause, asked, { person: request.person, title });
  }

  async function note(request: WebRequest): Promise<WebAnswer> {
    const { form, person } = request;
    const { id, note: present } = await causeOf(request);
    const [text = '', owner = ''] = ['text', 'owner'].map((name) => (form.get(name) ?? '').trim());
    if ((numberOf(form, 'noted') ?? 0) !== (present?.at ?? 0)) {
      const message = 'Somebody has changed the note since the page was loaded, so your note was not saved';
      throw new WebFault(409, `${message}: ${[owner, text].filter((one) => one !== '').join(': ')}`, {
        link: { path: causePath(id), name: 'The note as it is now' },
      });
    }
    await people.noteCause(id, { text: text.slice(0, 4000), owner: owner.slice(0, 200), by: person.name });
    const done = text === '' && owner === '' ? 'The note was removed.' : 'The note was saved.';
    return { type: 'redirect', to: causePath(id), notice: { text: done, tone: 'good' } };
  }

  async function settle(request: WebRequest): Promise<WebAnswer> {
    const { form, person } = request;
    const cause = await causeOf(request);
    const resolution = form.get('resolution') ?? '';
    if (!isResolution(resolution)) throw badRequest('Choose whether the write arrived.');
    const item = itemOf(form);
    const until = numberOf(form, 'until') ?? null;
    const what = item === null ? membersText(cause) : item.key;
    const title = `Settling ${what} as ${resolution}: ${cause.title}`;
    return startTask(tasks, settleCause, { cause: cause.id, resolution, item, until }, { person, title });
  }

  async function parts({ form, person }: WebRequest): Promise<WebAnswer> {
    const answer = form.get('present');
    if (answer !== 'yes' && answer !== 'no') throw badRequest('Choose whether the BOM items are at the platform.');
    if (form.get(SHOWN) !== shownMark(await runtime.reads.unansweredParts())) {
      const text = 'The question has changed since the page was loaded, so nothing was stored.';
      return { type: 'redirect', to: attentionPath(), notice: { text, tone: 'warn' } };
    }
    const present = answer === 'yes';
    const title = `BOM items of adopted products are ${present ? 'there' : 'not there'}`;
    return startTask(tasks, settleParts, { products: null, present }, { person, title });
  }

  return [
    get('/attention', 'viewer', inbox, { fields: LIST_FIELDS }),
    ...lookupRoutes(context),
    form('/attention/parts', settleParts, parts, { action: 'parts.settle', fields: { names: ['present', SHOWN] } }),
    get('/attention/:id', 'viewer', onePage, { fields: { names: ['after', 'tried', 'value'] } }),
    form('/attention/:id/replay/try', replayCause, tryReplay, { action: 'replay.try', fields: { names: [] } }),
    form('/attention/:id/replay', replayCause, replay, { action: 'replay.start', fields: { names: [] } }),
    form('/attention/:id/note', noteCause, note),
    form('/attention/:id/settle', settleCause, settle, {
      action: 'settle.start',
      fields: { names: ['resolution', 'kind', 'key', 'revision', 'until'] },
    }),
    form('/attention/:id/lookup', setLookupValue, async (request) => ({
      type: 'redirect',
      to: causePath((await causeOf(request)).id),
      notice: await storeLookupValue(request, context),
    })),
    ...fileRoutes(context),
  ];
}

/** The page of a cause that has no members any more, which a person sees after the last one was corrected. */
function solvedPage(former: Cause, { passports }: Awaited<ReturnType<PageContext['standing']>>): WebAnswer {
  const { passportsHeld: held } = former;
  const { initialized = 0, incomplete = 0 } = passports;
  const lead = `Nothing is stuck for this cause any more: ${former.title}`;
  const freed = held === null || held === 0 ? '' : `${counted(held, 'passport')} waited for it. `;
  const now = `Now ${counted(initialized, 'passport')} ${initialized === 1 ? 'is' : 'are'} prepared and not public, and ${counted(incomplete, 'passport')} ${incomplete === 1 ? 'waits' : 'wait'} for a complete product.`;
  const links = html`<p class="row"><a class="button" href="${attentionPath()}">What still needs attention</a> <a class="button plain" href="${passportsPath()}">Passports</a></p>`;
  return {
    type: 'page',
    title: 'Solved',
    at: '/attention',
    body: html`${pageHead('Solved', { lead })}${card(null, [html`<p>${freed}${now} What was stuck was corrected, or is stuck for another cause.</p>`, links])}`,
  };
}

function isResolution(text: string): text is Resolution {
  return RESOLUTIONS.some((one) => one === text);
}

/**
 * The item to settle; null for all items of the cause.
 *
 * @throws WebFault for a form that names an item only in part
 */
function itemOf(form: URLSearchParams): { kind: SubjectKind; key: string; revision?: number | undefined } | null {
  const [kind, key] = [form.get('kind'), form.get('key')];
  if (kind === null && key === null) return null;
  if (kind === null || key === null || !isSubjectKind(kind)) {
    throw badRequest('The form does not name the item with its kind and its key. Load the page again.');
  }
  return { kind, key, revision: numberOf(form, 'revision') };
}

export interface InboxView {
  causes: readonly Cause[];
  sources: readonly string[];
  /** BOM items of adopted products. A person has to say whether the platform has them. */
  parts: { products: number; bomItems: number };
  filter: { source: string; type: string };
  mayDecide: boolean;
}

/** The page with all items and rows that need a person, grouped by cause, those that hold the most passports first. */
export function inboxPage(view: InboxView, request: { csrf: string }): Html {
  const { filter, sources } = view;
  const entries = entriesOf(view.causes);
  const types = Object.entries(CAUSE_TYPES).map(([value, { name }]) => ({ value, name }));
  const fields = [
    {
      type: 'select' as const,
      name: 'type',
      label: 'Kind',
      value: filter.type,
      options: [{ value: '', name: 'All kinds' }, ...types],
    },
    {
      type: 'select' as const,
      name: 'source',
      label: 'Source',
      value: filter.source,
      options: [{ value: '', name: 'All sources' }, ...sources.map((value) => ({ value, name: value }))],
    },
  ];
  const isFiltered = filter.source !== '' || filter.type !== '';
  const nothing = isFiltered ? 'Nothing of this kind needs a person.' : 'Nothing needs a person.';
  const list =
    entries.length === 0 ? card(null, emptyState(nothing)) : html`<ul class="causes">${entries.map(causeEntry)}</ul>`;
  const values = html`<a class="button plain" href="/attention/lookup-values">Values of lookup tables</a>`;
  return html`${pageHead('Needs attention', { lead: leadText(entries.length), actions: values })}
${filterForm({ action: '/attention', fields })}${partsCard(view, request)}${list}`;
}

function leadText(count: number): string {
  if (count === 0) return 'This page lists what needs a person, grouped by cause.';
  return `${counted(count, 'cause')}, those for which the most passports wait first. Correct the cause, and try the whole group again.`;
}

const EXAMPLE_CHARACTERS = 80;

function causeEntry(entry: CauseEntry): Html {
  const { type, note, cure, values, causes } = entry;
  const example = values.length > 0 ? null : entry.example;
  const places =
    causes.length === 1
      ? null
      : html`<ul class="names">${causes.map((cause) => html`<li><a href="${causePath(cause.id)}">${placeText(cause)}</a> ${membersText(cause)}</li>`)}</ul>`;
  const title = html`${titleText(entry)}`;
  return html`<li class="card cause" id="${entryId(entry)}">
<p class="row">${causes.length === 1 ? html`<a class="title" href="${causePath(entry.id)}">${title}</a>` : html`<span class="title">${title}</span>`} ${stateBadge(CAUSE_TYPES[type].badge)}</p>
<p>${effectLine(entry)}${example === null || example === '' ? null : html` For example <code>${shortened(example, EXAMPLE_CHARACTERS)}</code>.`}</p>
${places}${cure === null ? null : html`<p class="quiet">${withCode(cure)}</p>`}
${note === null ? null : html`<p class="note">${note.owner === '' ? null : html`<b>${note.owner}</b>${note.text === '' ? null : ': '}`}${note.text}</p>`}
</li>`;
}

function partsCard({ parts, mayDecide }: InboxView, request: { csrf: string }): Html | null {
  if (parts.bomItems === 0) return null;
  const { bomItems, products } = parts;
  const what = `${counted(bomItems, 'BOM item')} of ${counted(products, 'product')}`;
  const form = (present: boolean) =>
    confirmForm(request, {
      action: '/attention/parts',
      fields: { present: present ? 'yes' : 'no', [SHOWN]: shownMark(parts) },
      button: present ? `They are there: ${what}` : `They are not there: ${what}`,
      text: present
        ? 'They count as delivered, and nothing is sent.'
        : 'dpp-sync creates them at the platform. A BOM item that is already there is then there twice.',
      tone: present ? 'usual' : 'grave',
    });
  return card('Are these BOM items at the platform?', [
    html`<p>${what} were at the platform before dpp-sync. The API cannot list BOM items, so a person has to look.</p>`,
    mayDecide ? html`<div class="row">${form(true)}${form(false)}</div>` : null,
  ]);
}
