// The answers at the head of the first page: how many passports are public, whether the last runs worked, what needs a person, what
// is down, and when everything is sent. Each answer has a figure that is red where something is wrong.
import type { PassportCounts, PassportState } from '../../../domain/passport.ts';
import type { Cause } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type LeftToSend, soonSent } from '../../../observe/standing.ts';
import { type Html, html, joined } from '../../html.ts';
import { withCode } from '../../parts.ts';
import { counted, countLink, durationOf, formatCount, timeOf } from '../../shown-values.ts';
import { attentionPath, itemsPath, passportsPath, runsPath } from '../links.ts';
import { sumOf } from '../runs/runs-pages.ts';
import { furtherNotes } from './attention-card.ts';
import type { OverviewView } from './overview-view.ts';

type Tone = 'good' | 'warn' | 'bad' | 'plain';

interface Answer {
  question: string;
  figure: Html | string;
  tone: Tone;
  detail: Html | null;
}

export function answersCard(view: OverviewView): Html {
  const answers = [lastRuns(view), downNow(view), forPeople(view), doneWhen(view)];
  return html`<section class="card first" aria-label="The answers at a glance">${headline(view)}<dl class="answers">${answers.map(
    ({ question, figure, tone, detail }) =>
      html`<div class="${tone}"><dt>${question}</dt><dd><b>${figure}</b>${detail === null ? null : html`<span>${detail}</span>`}</dd></div>`,
  )}</dl></section>`;
}

type Source = OverviewView['standing']['sources'][number];

/** Whether the last run of each source has read all of it, and what changed. */
function lastRuns({ standing, running, now }: OverviewView): Answer {
  const question = 'Did the last runs work?';
  const { sources, quarantined } = standing;
  const { guarded, failed, held, decided } = stopped(standing);
  const isSound = ({ source, lastRun }: Source) =>
    !guarded.has(source) && !failed.has(source) && !held.has(source) && lastRun?.result === 'complete';
  const sound = sources.filter(isSound).length;
  const ended = sources.flatMap(({ lastRun }) => lastRun?.endedAt ?? []);
  const changed = sources.reduce((sum, { lastRun }) => sum + sumOf(lastRun?.streams ?? [], 'changed'), 0);
  const wrong = [
    ...sourceLinks('failed', [...failed]),
    ...sourceLinks(
      'held as broken',
      [...guarded].filter((source) => !failed.has(source)),
    ),
    ...sourceLinks('held, because it would do more than is allowed', [...held]),
    ...sourceLinks('held, and a person has decided', [...decided]),
    ...sourceLinks(
      'not read yet',
      namesOf(sources, ({ source, lastRun }) => lastRun === null && !running.includes(source)),
    ),
    ...sourceLinks('running', [...running]),
    ...sourceLinks(
      'interrupted',
      namesOf(sources, ({ lastRun, source }) => lastRun?.result === 'interrupted' && !running.includes(source)),
    ),
  ];
  const errors =
    quarantined === 0
      ? html`no row has an error`
      : html`<a href="${attentionPath({ type: 'quarantine' })}">${counted(quarantined, 'row')}</a> ${quarantined === 1 ? 'has' : 'have'} an error`;
  const read = html`${counted(changed, 'row')} changed, ${errors}`;
  const lastEnd = Math.max(...ended);
  const last =
    ended.length === 0 ? null : html`, the last run ended ${timeOf(lastEnd)}, ${durationOf(now - lastEnd)} ago`;
  const isBad = failed.size + guarded.size + held.size > 0;
  return {
    question,
    figure: html`<a href="${runsPath()}">${formatCount(sound)} of ${counted(sources.length, 'source')} complete</a>`,
    tone: isBad ? 'bad' : sound === sources.length ? 'good' : 'warn',
    detail: html`${wrong.length === 0 ? null : html`${joined(wrong)}. `}${read}${last}.`,
  };
}

/**
 * The sources whose last export is not in the ledger: those that the guard holds, those whose last run failed, those whose last run
 * waits for an approval, and those about whose held run a person has decided.
 */
function stopped({
  guarded,
  failedRuns,
  held,
  sources,
}: Pick<OverviewView['standing'], 'guarded' | 'failedRuns' | 'held' | 'sources'>) {
  const names = (list: readonly { source: string }[]) => new Set(list.map(({ source }) => source));
  const waiting = names(held);
  const decided = sources.filter(({ source, lastRun }) => lastRun?.result === 'held' && !waiting.has(source));
  return { guarded: names(guarded), failed: names(failedRuns), held: waiting, decided: names(decided) };
}

function namesOf(sources: readonly Source[], fits: (source: Source) => boolean): string[] {
  return sources.filter(fits).map(({ source }) => source);
}

function sourceLinks(what: string, names: readonly string[]): Html[] {
  return names.length === 0
    ? []
    : [html`${what}: ${joined(names.map((source) => html`<a href="${runsPath({ source })}">${source}</a>`))}`];
}

/** What is down now, and since when. */
function downNow({ down, pausedQueues, now }: OverviewView): Answer {
  const question = 'Is anything down?';
  const paused = pausedQueues ?? [];
  const queues = html`<a href="/queues">${joined(paused.map((name) => html`${name}`))}</a>`;
  const [first] = down;
  if (first !== undefined) {
    const each = down.map(
      ({ what, since, until }) =>
        html`${what}${until === null ? null : html` until ${timeOf(until)}`}${
          since === null || until !== null ? null : html` since ${timeOf(since)}, for ${durationOf(now - since)}`
        }`,
    );
    if (paused.length > 0) each.push(html`paused by a person: ${queues}`);
    return {
      question,
      figure: html`${each[0] ?? null}`,
      tone: 'bad',
      detail:
        each.length === 1
          ? first.stopsAll
            ? html`Everything stays due and is sent when it works again.`
            : html`What needs it stays due; everything else is sent.`
          : html`Also: ${joined(each.slice(1))}.`,
    };
  }
  if (paused.length > 0)
    return {
      question,
      figure: 'Paused by a person',
      tone: 'warn',
      detail: queues,
    };
  return { question, figure: 'Nothing', tone: 'good', detail: html`Platform, ledger and queue work.` };
}

/** What a person has to decide, and how many passports wait. */
function forPeople(view: OverviewView): Answer {
  const question = 'What needs a person?';
  const { standing, causes, causeCount, passportsWanted, productsInQuarantine } = view;
  if (causes === null)
    return { question, figure: 'Not known', tone: 'warn', detail: html`The causes could not be read at the moment.` };
  const { passports, guarded, held, failedRuns } = standing;
  const unmade = passportsWanted ? productsInQuarantine : 0;
  const waiting = (passports.blocked ?? 0) + (passports.incomplete ?? 0) + unmade;
  const others = furtherNotes(view).length;
  const count = causeCount + others;
  const [first] = causes;
  const isKnown = causes.every(({ passportsHeld }) => passportsHeld !== null);
  const wait =
    waiting > 0
      ? html`${counted(waiting, 'passport')} ${waiting === 1 ? 'waits' : 'wait'}${isKnown ? null : ', or more'}.`
      : isKnown
        ? html`No passport waits.`
        : html`How many passports wait is not known.`;
  if (count === 0) return { question, figure: 'Nothing', tone: waiting === 0 ? 'good' : 'warn', detail: wait };
  return {
    question,
    // The list of causes has no notes. The card below has all of it.
    figure: html`<a href="${others === 0 ? attentionPath({}) : '#attention'}">${counted(count, 'thing')}</a>`,
    tone: guarded.length + held.length + failedRuns.length + waiting > 0 ? 'bad' : 'warn',
    detail: html`${wait}${first === undefined ? null : html` First: ${firstText(first)}`}`,
  };
}

/** What has happened, and the first thing to do about it. A failed run has its error. */
function firstText({ title, type, example, cure }: Cause): Html {
  const [step = ''] = cure.split(/(?<=\.) /, 1);
  return html`${title} ${type === 'run' && example !== null ? html`${example} ` : null}${withCode(step)}`;
}

/** When everything that can be sent is sent. */
function doneWhen({ left, secondsLeft, down, pausedQueues, running, standing }: OverviewView): Answer {
  const question = 'When is everything sent?';
  if (left === null) return { question, figure: 'Not known', tone: 'warn', detail: html`The ledger cannot be read.` };
  const soon = soonSent(left);
  const others = leftBeside(left);
  const detail = others.length === 0 ? null : html`${joined(others)}.`;
  if (soon === 0 && others.length === 0) {
    const { failed, guarded, held, decided } = stopped(standing);
    const unread = [...new Set([...failed, ...guarded, ...held, ...decided])];
    if (unread.length > 0) {
      const are = unread.length === 1 ? 'The last export is' : 'The last exports are';
      return {
        question,
        figure: 'Everything so far is sent',
        tone: 'warn',
        detail: html`${are} not in: ${joined(unread.map((source) => html`${source}`))}.`,
      };
    }
    return {
      question,
      figure: running.length === 0 ? 'Everything is sent' : 'Everything so far is sent',
      tone: 'good',
      detail: running.length === 0 ? null : html`A run is under way.`,
    };
  }
  if (soon === 0) return { question, figure: 'Nothing can be sent now', tone: 'warn', detail };
  // The figure is the sum of several lists, to which the figures below link.
  const figure = `${counted(soon, 'write')} left`;
  const stops = down.some(({ stopsAll }) => stopsAll)
    ? 'nothing is sent while something is down'
    : (pausedQueues ?? []).length > 0
      ? 'not while the queue is paused'
      : null;
  if (stops !== null) return { question, figure: `${figure}, ${stops}`, tone: 'warn', detail };
  const lasts = secondsLeft === null ? null : html`, about ${durationOf(secondsLeft * 1000)}`;
  return { question, figure: html`${figure}${lasts}`, tone: 'plain', detail };
}

/** What is left beside the writes that are sent next. */
export function leftBeside({ waiting, unconfirmed, incomplete }: LeftToSend): Html[] {
  const parts = [
    {
      count: waiting,
      path: itemsPath({ state: 'waiting' }),
      one: 'waits for other items',
      many: 'wait for other items',
    },
    {
      count: incomplete,
      path: passportsPath({ state: 'incomplete' }),
      one: 'passport waits for a complete product',
      many: 'passports wait for a complete product',
    },
    {
      count: unconfirmed,
      path: itemsPath({ state: 'in_doubt' }),
      one: 'was sent and has no answer yet',
      many: 'were sent and have no answer yet',
    },
  ];
  return parts.flatMap(({ count, path, one, many }) =>
    count === 0 ? [] : [html`<a href="${path}">${formatCount(count)}</a> ${count === 1 ? one : many}`],
  );
}

/**
 * The states of passports that are not public, in the order in which the sentence names them.
 */
const REST: readonly { state: PassportState; says: (count: string, one: boolean) => string }[] = [
  { state: 'blocked', says: (count, one) => `${count} ${one ? 'needs' : 'need'} a person` },
  { state: 'incomplete', says: (count, one) => `${count} ${one ? 'waits' : 'wait'} for a complete product` },
  // Whether its product is complete is known only when somebody asks for the publication.
  { state: 'initialized', says: (count, one) => `${count} ${one ? 'is' : 'are'} prepared, not public` },
  { state: 'unpublished', says: (count, one) => `${count} ${one ? 'was' : 'were'} withdrawn` },
  { state: 'none', says: (count, one) => `${count} ${one ? 'is' : 'are'} not prepared yet` },
];

type HeadlineView = Pick<
  OverviewView,
  'unmapped' | 'passportBlocker' | 'passportsWanted' | 'productsInQuarantine' | 'left'
> & {
  standing: Pick<OverviewView['standing'], 'passports' | 'quarantined' | 'guarded' | 'held' | 'failedRuns' | 'sources'>;
};

/** A sentence about how many passports are published, and why the others are not. */
export function headline(view: HeadlineView): Html {
  const { passports: counts } = view.standing;
  // If the config wants no passports, a product without a passport lacks nothing.
  const { passportsWanted: areWanted, passportBlocker: blocker } = view;
  const unmade = areWanted ? view.productsInQuarantine : 0;
  const { published = 0 } = counts;
  const rest = REST.flatMap(({ state, says }) => {
    const count = counts[state] ?? 0;
    return count === 0 || (state === 'none' && !areWanted) ? [] : [{ state, count, says }];
  });
  const total = rest.reduce((sum, { count }) => sum + count, published + unmade);
  if (total === 0) {
    const why = areWanted
      ? 'No source has given a product yet.'
      : 'The config has no section “passports”, so dpp-sync prepares no passport automatically.';
    return html`<p class="headline">No passports yet</p><p class="quiet">${why}</p>`;
  }
  // The figure has no link where no list has these products: if the config wants no passports, and if the ledger lacks some products.
  const all =
    areWanted && unmade === 0
      ? html`<a href="${passportsPath()}">${formatCount(total)}</a>`
      : html`${formatCount(total)}`;
  const figure = html`${countLink(published, passportsPath({ state: 'published' }))} of ${all}`;
  const parts = rest.map(
    ({ state, count, says }) =>
      html`<a href="${passportsPath({ state })}">${says(formatCount(count), count === 1)}</a>`,
  );
  if (unmade > 0) {
    parts.push(
      html`<a href="${attentionPath({ type: 'quarantine' })}">${formatCount(unmade)} ${unmade === 1 ? 'has' : 'have'} only rows with an error</a>`,
    );
  }
  return html`<p class="headline">${figure} ${total === 1 ? 'passport' : 'passports'} public</p>${
    parts.length === 0 ? allPublic(view) : html`<p>Of the rest, ${joined(parts)}.</p>${waiting(counts, blocker)}`
  }`;
}

/** What prepared passports wait for besides a person. */
function waiting({ initialized = 0 }: PassportCounts, blocker: string | null): Html | null {
  return initialized === 0 || blocker === null
    ? null
    : html`<p class="warn">No passport can be published now: ${withCode(blocker)}</p>`;
}

/**
 * The sentence if all passports are published. Products that the ledger does not have yet are not counted, so the
 * sentence names the sources that may still give some.
 */
function allPublic({ standing, unmapped, left }: HeadlineView): Html {
  const { quarantined, guarded, held, failedRuns, sources } = standing;
  const parts = [
    ...(quarantined === 0
      ? []
      : [
          html`<a href="${attentionPath({ type: 'quarantine' })}">${counted(quarantined, 'row')}</a> ${quarantined === 1 ? 'has' : 'have'} an error`,
        ]),
    ...failedRuns.map(({ source }) => html`the last run of <a href="${runsPath({ source })}">${source}</a> failed`),
    ...guarded.map(
      ({ source, stream }) => html`the guard holds <a href="${runsPath({ source })}">${source}/${stream}</a>`,
    ),
    ...held.map(({ source }) => html`a run of <a href="${runsPath({ source })}">${source}</a> waits for an approval`),
    ...sources.flatMap(({ source, lastRun, completeAt }) => {
      const link = html`<a href="${runsPath({ source })}">${source}</a>`;
      if (failedRuns.some((failed) => failed.source === source)) return [];
      if (completeAt === null) return [html`${link} was never read completely`];
      return lastRun?.result === 'interrupted' ? [html`the last run of ${link} was interrupted`] : [];
    }),
    ...unmapped.map((source) => html`rows of <a href="${runsPath({ source })}">${source}</a> are not mapped yet`),
  ];
  const soon = left === null ? 0 : soonSent(left);
  const unsent = soon === 0 ? null : ` ${counted(soon, 'change')} ${soon === 1 ? 'is' : 'are'} not sent yet.`;
  return parts.length === 0
    ? html`<p class="quiet">Every passport is public.${unsent}</p>`
    : html`<p>Every passport of the ledger is public.${unsent} Products may be missing from the ledger: ${joined(parts)}.</p>`;
}
