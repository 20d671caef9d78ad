// The figures of the pages, each beside what it is by the books.

import { setTimeout as passes } from 'node:timers/promises';
import { ITEM_KINDS } from '../../../../src/domain/item.ts';
import { PASSPORT_STATES } from '../../../../src/domain/passport.ts';
import { STATES_IN_ORDER, stateWord } from '../../../../src/domain/words/states.ts';
import { durationOf } from '../../../../src/web/shown-values.ts';
import type { RunBook } from './books.ts';
import { ACCOUNT, type Fact, factsOf, lastRun, type Moment, secondsLeftOf, see, sum } from './moment.ts';
import { type Claim, PageFigures, type Row } from './page.ts';

const KIND_NAMES: Record<string, (typeof ITEM_KINDS)[number]> = {
  Products: 'product',
  Materials: 'material',
  'BOM items': 'bom_item',
};

/** The causes, by the address of their page. `of` is the name of its rows in the facts. */
export type Causes = ReadonlyMap<string, { type: string; of: string; count: number; held: number | null }>;

/** How many rows the list at an address has; null for an address of something else. */
function listLength(moment: Moment, causes: Causes, href: string): number | null {
  const fact = factsOf(moment);
  const { pathname, searchParams } = new URL(href, 'http://localhost');
  const asked = Object.fromEntries(searchParams);
  const { kind, state, source, type, run, value } = asked;
  // The members with a value are counted beside its name.
  if (value !== undefined) return null;
  if (pathname === '/items') {
    if (run !== undefined) return fact(`changed by ${run}`);
    if (kind === undefined && state !== undefined) return fact(`left ${state}`);
    if (state === undefined) return sum(STATES_IN_ORDER.map((one) => fact(`items ${kind} ${one}`)));
    return fact(`items ${kind} ${state}`);
  }
  if (pathname === '/passports') {
    return state === undefined
      ? sum(PASSPORT_STATES.map((one) => fact(`passports ${one}`)))
      : fact(`passports ${state}`);
  }
  if (pathname === '/attention' && type === 'quarantine') {
    return fact(source === undefined ? 'quarantined' : `quarantined ${source}`);
  }
  if (pathname === '/history') return moment.activity.refused;
  return causes.get(pathname)?.count ?? null;
}

async function pageClaims(
  moment: Moment,
  causes: Causes,
  path: string,
  read: (page: PageFigures, rows: Row[], fact: Fact) => void = () => undefined,
): Promise<Claim[]> {
  const { status, body } = await moment.visitor.get(path);
  if (status !== 200) throw new Error(`${path} was answered with ${status}.`);
  const page = new PageFigures(path, body);
  const fact = factsOf(moment);
  page.links((href, text) =>
    /only rows with an error/.test(text) ? fact('unmade') : listLength(moment, causes, href),
  );
  const rows = page.rows();
  page.sentence(NO_COUNT);
  for (const row of rows) for (const [name, cell] of row) row.set(name, cell.replace(NO_COUNT, ''));
  guardSentences(page, fact);
  read(page, rows, fact);
  page.end();
  return page.claims;
}

function runCells(page: PageFigures, row: Row, run: RunBook | undefined): void {
  if (run === undefined) return;
  for (const count of ACCOUNT) {
    page.cell(row, count === 'quarantined' ? 'with an error' : count, run[count], `run ${run.id} ${count}`);
  }
  // How long it lasted.
  for (const name of ['result', 'lasted'])
    row.set(name, (row.get(name) ?? '').replace(new RegExp(`,? ?${DURATION}$`), ''));
}

const stuckOf = (fact: Fact): number =>
  sum(['blocked', 'rejected', 'parked', 'in_doubt'].map((state) => fact(`stuck ${state}`)));
const DURATION = '\\d+ (?:s|min|h|days)(?: \\d+ min)?';
/** How many values a cause has, and the status of a refusal in the words of the sandbox and of the causes. */
const NO_COUNT = /and \d+ other values?|answer with \d{3}\.|\(4\d\d(?: or 4\d\d)?\)|a second 409 means/;
const productsOf = (fact: Fact): number => sum(PASSPORT_STATES.map((state) => fact(`passports ${state}`)));

function overview(moment: Moment, causes: Causes) {
  return (page: PageFigures, rows: Row[], fact: Fact): void => {
    // The exports that the guard holds are above the table of causes.
    const listed = [...causes.values()].filter(({ type }) => type !== 'guard');
    for (const [at, row] of rows.filter((one) => one.has('passports that wait')).entries()) {
      page.cell(row, 'passports that wait', listed[at]?.held ?? -1, `the passports of cause ${at}`);
    }
    for (const row of rows) {
      const kind = KIND_NAMES[row.get('kind') ?? ''];
      if (row.has('read')) runCells(page, row, lastRun(moment, row.get('source') ?? ''));
      if (kind !== undefined)
        for (const state of STATES_IN_ORDER)
          page.cell(row, stateWord(state), fact(`items ${kind} ${state}`), `${kind} ${state}`);
      if (row.has('published'))
        for (const state of PASSPORT_STATES)
          page.cell(row, stateWord(state), fact(`passports ${state}`), `passports ${state}`);
      if (row.has('with an error now'))
        page.cell(row, 'with an error now', fact(`quarantined ${row.get('source')}`), 'with an error now');
      if (kind !== undefined)
        page.cell(row, 'all', sum(STATES_IN_ORDER.map((state) => fact(`items ${kind} ${state}`))), `all ${kind}`);
    }
    const isSound = (source: string) => {
      const run = lastRun(moment, source);
      return run?.result === 'complete' && !moment.books.guarded.some((stream) => stream.startsWith(`${source}/`));
    };
    const sources = moment.sources.filter(isSound).length;
    page.sentence(/([\d,]+) of ([\d,]+) sources? complete/, sources, moment.sources.length);
    page.sentence(/([\d,]+) rows? changed/, sum(moment.sources.map((source) => lastRun(moment, source)?.changed ?? 0)));
    page.sentence(
      /([\d,]+) of ([\d,]+) passports? public/,
      fact('passports published'),
      productsOf(fact) + fact('unmade'),
    );
    page.sentence(/([\d,]+) of passports? public/, fact('passports published'));
    page.sentence(/ of ([\d,]+) passports? public/, productsOf(fact) + fact('unmade'));
    for (const [shown = ''] of page.texts(new RegExp(`, about (${DURATION})`))) {
      see(moment, 'time left');
      page.claim('time left', shown, durationOf(secondsLeftOf(moment) * 1000));
    }
    page.sentence(/Left to send ([\d,]+)/, fact('left due'));
    page.sentence(/([\d,]+) writes? left\b/, fact('left due') + fact('left sending') + fact('left following'));
    const soon = fact('left due') + fact('left sending') + fact('left following');
    page.sentence(/([\d,]+) changes? (?:is|are) not sent yet/, soon);
    // How long ago something was.
    page.sentence(new RegExp(`, (?:for )?${DURATION}(?: ago)?(?=\\.| )`));
    page.sentence(/([\d,]+) things?/, causes.size);
    page.sentence(
      /\b(\d[\d,]*) passports? waits?\b(?! for a)/,
      fact('passports blocked') + fact('passports incomplete') + fact('unmade'),
    );
    // The figure itself has a link.
    page.sentence(/Refused with 429, last 24 hours|the last 24 hours/);
    page.sentence(/Version 1\.2\.3, to http:\/\/[\d.:]+, running for \d+ \w+(?: \d+ min)?\./);
    latencyClaims(page, moment);
    page.sentence(/Requests now ([\d,.]+) per second/, 0);
    page.sentence(/The API allows [\d,.]+ per second/);
  };
}

const LATENCY =
  /The platform answers in ([\d.]+ m?s)(?:, usually ([\d.]+ m?s))?\.(?: The platform is slow, not dpp-sync\.)? \((\w+\.\w+):/;
/** Latencies are counted in classes of a tenth, and shown with two digits. */
const LATENCY_ERROR = { share: 0.11, ms: 1 };
/** So many answers are needed to say how long they take. */
const ANSWERS_MIN = 20;

/** The median of the last minutes, and what is usual, for the operation with the most answers. */
function latencyClaims(page: PageFigures, moment: Moment): void {
  const { latencies } = moment.speed;
  const most = Math.max(0, ...Object.values(latencies).map(({ answers }) => answers));
  for (const [now = '', usual, operation = ''] of page.texts(LATENCY)) {
    const is = latencies[operation] ?? { answers: 0, now: 0, usual: 0 };
    see(moment, 'latency');
    page.claim('answers of the operation', is.answers, Math.max(most, ANSWERS_MIN));
    page.claim(`latency of ${operation}`, nearly(now, is.now), is.now);
    if (usual === undefined) continue;
    see(moment, 'usual latency');
    page.claim(`usual latency of ${operation}`, nearly(usual, is.usual), is.usual);
  }
}

/** A time of a page in milliseconds; `is` itself if it is near enough. */
function nearly(text: string, is: number): number {
  const shown = Number.parseFloat(text) * (text.endsWith(' ms') ? 1 : 1000);
  return Math.abs(shown - is) <= is * LATENCY_ERROR.share + LATENCY_ERROR.ms ? is : shown;
}

/** Every page with figures. */
export async function readPages(moment: Moment, causes: Causes): Promise<Claim[]> {
  const page = (path: string, read?: (page: PageFigures, rows: Row[], fact: Fact) => void) =>
    pageClaims(moment, causes, path, read);
  const list = (path: string, count: (fact: Fact) => number) =>
    page(path, (figures, rows, fact) => {
      // The rows themselves are names, words and times.
      for (const row of rows) row.clear();
      figures.sentence(/([\d,]+) items? (?:in the ledger|selected)/, count(fact));
      figures.sentence(/\b\d+ of ([\d,]+)/, count(fact));
      figures.sentence(/all ([\d,]+) that the filter selects/, count(fact));
    });
  const items = (fact: Fact) =>
    sum(ITEM_KINDS.flatMap((kind) => STATES_IN_ORDER.map((state) => fact(`items ${kind} ${state}`)))) +
    fact('passport items');
  return [
    ...(await page('/', overview(moment, causes))),
    ...(await list('/items', items)),
    ...(await list('/items?kind=product', (fact) =>
      sum(STATES_IN_ORDER.map((state) => fact(`items product ${state}`))),
    )),
    ...(await list('/items?state=due', (fact) => fact('left due'))),
    ...(await list('/passports', productsOf)),
    ...(await list('/passports?state=incomplete', (fact) => fact('passports incomplete'))),
    ...(await page('/runs', (figures, rows) => {
      for (const [at, row] of rows.entries()) runCells(figures, row, moment.books.runs[at]);
      figures.sentence(/\b\d+ of ([\d,]+)/, moment.books.runs.length);
    })),
    ...(await page('/attention', (figures) => {
      figures.sentence(/([\d,]+) causes?/, causes.size);
      for (const { count, held } of causes.values()) {
        figures.sentence(new RegExp(`${grouped(count)} (?:rows?|items?|records?|runs?)\\b`));
        if (held !== null) figures.sentence(new RegExp(`${grouped(held)} passports? waits? for this`));
      }
    })),
    ...(await Promise.all([...causes.keys()].map((address) => oneCause(moment, causes, address)))).flat(),
    ...(await oneRun(moment, causes)),
    ...(await decisions(moment, causes)),
    ...(await tasks(moment, causes)),
    ...(await oneTask(moment, causes)),
    ...(await page('/history', (figures, rows, fact) => {
      for (const row of rows) historyRow(figures, row, { moment, fact });
      hourRows(figures, rows, moment);
      figures.sentence(/\b(?:90|28|7) days in UTC/);
      figures.sentence(/last (?:7|28) days/);
      figures.sentence(/last 400 runs/);
      figures.sentence(/at most ([\d,]+) passports/, productsOf(fact));
      figures.sentence(
        /at most ([\d,]+) rows? changed/,
        Math.max(0, ...moment.sources.map((source) => changedBy(moment, source))),
      );
      figures.sentence(/\b89 days without a count/);
      latencyClaims(figures, moment);
      figures.sentence(/last 24 hours|\(429\)/);
      figures.sentence(/Deliveries in each hour, at most [\d,]+/);
      const { rows: read, requests, refused, delivered, failed } = moment.activity;
      figures.sentence(
        /([\d,]+) rows? read, ([\d,]+) requests?, ([\d,]+) refused , ([\d,]+) delivered, ([\d,]+) failed/,
        read,
        requests,
        refused,
        delivered,
        failed,
      );
    })),
    ...(await page('/audit', (figures, rows, fact) => {
      for (const row of rows) row.clear();
      figures.sentence(/\b\d+ of ([\d,]+)/, fact('actions'));
    })),
    ...(await page('/queues', (figures, _rows, fact) => {
      for (const state of ['waiting', 'active', 'failed']) figures.sentence(new RegExp(`[\\d,]+ ${state}`));
      const [failed = 0] = figures.figures(/Retry all ([\d,]+)/);
      const [more = 0] = figures.figures(/([\d,]+) more writes?/);
      figures.sentence(/([\d,]+) further ones? (?:is|are) not shown/, failed - 100);
      if (failed > 0) figures.claim('failed jobs, and the writes without one', failed + more, stuckOf(fact));
    })),
  ];
}

const escaped = (text: string): string => text.replaceAll(/[^\w\s]/g, String.raw`\$&`);

/** The page of a cause. */
async function oneCause(moment: Moment, causes: Causes, path: string): Promise<Claim[]> {
  const cause = causes.get(path);
  if (cause === undefined) return [];
  const { type, of, count, held } = cause;
  const values = type === 'part' ? 'part ' : `value ${of} `;
  return pageClaims(moment, causes, path, (page, rows, fact) => {
    // The cells are values of rows.
    for (const row of rows) row.clear();
    page.sentence(/([\d,]+) (?:rows?|items?|runs?|records?)(?: (?:of|is mapped|are mapped|again)\b| ?\.)/, count);
    page.sentence(/([\d,]+) passports? waits? for this/, held);
    page.sentence(/(?:there|it|for):? ([\d,]+) (?:items?|rows?)/, count);
    for (const [name, is] of Object.entries(moment.books.facts).filter(([name]) => name.startsWith(values))) {
      const value = name.slice(values.length);
      page.sentence(new RegExp(`${escaped(value)} ([\\d,]+) (?:rows?|items?)`), is);
    }
    page.sentence(/\b\d+ of ([\d,]+)/, count);
    guardSentences(page, fact);
  });
}

/** The page of the newest run. */
async function oneRun(moment: Moment, causes: Causes): Promise<Claim[]> {
  const [run] = moment.books.runs;
  if (run === undefined) return [];
  return pageClaims(moment, causes, `/runs/${run.id}`, (page, rows) => {
    for (const row of rows) runCells(page, row, run);
    page.sentence(/Run ([\d,]+) of/, run.id);
    page.sentence(new RegExp(`lasted ${DURATION}`));
  });
}

/** The page on which a person decides about the export that the guard holds. */
async function decisions(moment: Moment, causes: Causes): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const stream of moment.books.guarded) {
    const [source] = stream.split('/');
    claims.push(
      ...(await pageClaims(moment, causes, `/runs/accept?source=${source}`, (page, rows, fact) => {
        const [read, missing] = [fact('guard read'), fact('guard missing')];
        for (const row of rows) {
          page.cell(row, 'rows read', read, 'rows read');
          page.cell(row, 'records missing', missing, 'records missing');
          page.cell(row, 'items released', 0, 'items released');
          row.clear();
        }
        page.sentence(/Records that the export lacks: \S+ \(([\d,]+)\)/, missing);
        page.sentence(/all ([\d,]+), each with the products/, missing);
        page.sentence(/At most ([\d,]+) records? that the export lacks/, missing);
        page.sentence(/(?:\bM-\d+ )+/);
        const [gone = 0, using = 0] = page.figures(/and ([\d,]+) more/);
        page.claim('more that are gone', gone, missing - GONE_NAMED);
        page.claim('more that use it', using, fact('users of gone') - USERS_NAMED);
        page.sentence(/or use what is gone: \S+ \(([\d,]+)\)/, fact('users of gone'));
        page.sentence(/passports of ([\d,]+) of them are public/, fact('public users of gone'));
      })),
    );
  }
  return claims;
}

/** How many of the records that are gone the page names, and how many of the products that use them. */
const [GONE_NAMED, USERS_NAMED] = [100, 100];

/** The list of tasks. */
function tasks(moment: Moment, causes: Causes): Promise<Claim[]> {
  return pageClaims(moment, causes, '/tasks', (page, rows, fact) => {
    page.claim('tasks', rows.length, fact('tasks'));
    for (const row of rows) row.clear();
  });
}

/** A progress is at most so old, by the clock of the machine. */
const PROGRESS_WITHIN_MS = 5000;

/** The page of a task that is under way. Its progress comes at intervals, so the page is read until it is right. */
async function oneTask(moment: Moment, causes: Causes): Promise<Claim[]> {
  const { task } = moment;
  if (task === null) return [];
  const { path, ended } = task;
  const until = performance.now() + PROGRESS_WITHIN_MS;
  for (;;) {
    const claims = await pageClaims(moment, causes, path, (page, _rows, fact) => {
      const soon = fact('left due') + fact('left sending') + fact('left following');
      page.sentence(/Sent so far ([\d,]+) of ([\d,]+)/, ended, ended + soon);
      page.sentence(/Left to send ([\d,]+)/, soon);
      page.sentence(/Deliveries that wait for other items ([\d,]+)/, fact('left waiting'));
      page.sentence(/Passports that wait for a complete product ([\d,]+)/, fact('passports incomplete'));
      page.sentence(/Sent, no answer yet ([\d,]+)/, fact('left in_doubt'));
      // A task also shows what other runs read meanwhile, and what was read before its own run begins.
      for (const [stream = '', text = ''] of page.texts(/(\w+\/\w+): ([\d,]+) records read/)) {
        const reads = moment.books.runs.filter((run) => stream.startsWith(`${run.source}/`)).map((run) => run.read);
        const read = Number(text.replaceAll(',', ''));
        page.claim(`rows read of ${stream}`, read, reads.includes(read) ? read : (reads[0] ?? 0));
      }
      page.sentence(new RegExp(`Duration ${DURATION}`));
    });
    if (claims.every(({ shown, is }) => shown === is) || performance.now() > until) {
      see(moment, 'task');
      return claims;
    }
    await passes(100);
  }
}

const grouped = (count: number): string => count.toLocaleString('en-US');
const changedBy = ({ books }: Moment, source: string): number =>
  sum(books.runs.filter((run) => run.source === source).map(({ changed }) => changed));

function historyRow(page: PageFigures, row: Row, { moment, fact }: { moment: Moment; fact: Fact }): void {
  row.delete('day (UTC)');
  row.delete('hour (UTC)');
  if (row.has('rows changed')) {
    const source = row.get('source') ?? '';
    const runs = moment.books.runs.filter((run) => run.source === source);
    page.cell(row, 'runs', runs.length, `runs of ${source}`);
    page.cell(row, 'failed', runs.filter(({ result }) => result === 'failed').length, `failed runs of ${source}`);
    page.cell(row, 'held', runs.filter(({ isHeld }) => isHeld === 1).length, `held runs of ${source}`);
    page.cell(
      row,
      'interrupted',
      runs.filter((run) => run.result === 'interrupted').length,
      `interrupted runs of ${source}`,
    );
    page.cell(row, 'rows changed', changedBy(moment, source), `rows of ${source} changed`);
  } else if (row.has('step')) {
    const items = sum(ITEM_KINDS.flatMap((kind) => STATES_IN_ORDER.map((state) => fact(`items ${kind} ${state}`))));
    const delivered = sum(ITEM_KINDS.map((kind) => fact(`items ${kind} delivered`)));
    const complete = productsOf(fact) - fact('passports none') - fact('passports incomplete');
    const steps: Record<string, [number, number]> = {
      'Rows without an error': [fact('rows') - fact('quarantined'), fact('quarantined')],
      'Items made from them': [items, 0],
      'Items delivered': [delivered, items - delivered],
      'Products complete': [complete, productsOf(fact) - complete],
      'Passports published': [fact('passports published'), complete - fact('passports published')],
    };
    const [done, left] = steps[row.get('step') ?? ''] ?? [-1, -1];
    page.cell(row, 'came so far', done, `${row.get('step')}`);
    page.cell(row, 'did not yet', left, `not ${row.get('step')}`);
    row.set('lists', (row.get('lists') ?? '').replaceAll(/\b0\b/g, ''));
  } else if (!row.has('requests')) {
    for (const state of PASSPORT_STATES)
      page.cell(row, stateWord(state), fact(`passports ${state}`), `passports ${state} of today`);
  }
}

/** The tables by the hour: those of the platform, and those of the last 24 hours. The hours together have all that was counted. */
function hourRows(page: PageFigures, rows: readonly Row[], { activity }: Moment): void {
  const names = {
    'rows read': 'rows',
    requests: 'requests',
    'refused (429)': 'refused',
    delivered: 'delivered',
    failed: 'failed',
  } as const;
  for (const isOfPlatform of [true, false]) {
    const hours = rows.filter((row) => row.has('requests') && row.has('median') === isOfPlatform);
    for (const [name, counted] of Object.entries(names)) {
      const figures = hours.flatMap((row) => row.get(name) ?? []);
      if (figures.length === 0) continue;
      page.claim(
        `${name} of all hours`,
        sum(figures.map((figure) => Number(figure.replaceAll(',', '')))),
        activity[counted],
      );
    }
    for (const row of hours) row.clear();
  }
}

/** What is said about the export that the guard holds, on each page that names it. */
function guardSentences(page: PageFigures, fact: Fact): void {
  const [read, missing, known] = [fact('guard read'), fact('guard missing'), fact('known materials')];
  page.sentence(/has only ([\d,]+) rows and lacks ([\d,]+)/, read, missing);
  const percent = Math.round((missing / known) * 1000) / 10;
  page.sentence(
    /([\d,]+) of ([\d,]+) records with items are missing from this export \(([\d.]+) %, allowed are (\d+) %\)/,
    missing,
    known,
    percent,
    20,
  );
  page.sentence(/Missing: (?:M-\d+, )*M-\d+ and ([\d,]+) more/, missing - 5);
}
