// What the pages, the admin API, `status --json` and the metrics show, each figure beside what it is by the books.

import { ITEM_KINDS } from '../../../../src/domain/item.ts';
import { PASSPORT_STATES } from '../../../../src/domain/passport.ts';
import { STATES_IN_ORDER } from '../../../../src/domain/words/states.ts';
import { runHere } from '../../../support/cli/cli-here.ts';
import { itemClaims } from './item-pages.ts';
import { ACCOUNT, factsOf, lastRun, type Moment, secondsLeftOf, sum } from './moment.ts';
import type { Claim } from './page.ts';
import { type Causes, readPages } from './pages.ts';

async function json<T>({ visitor }: Moment, path: string): Promise<T> {
  const { status, body } = await visitor.get(path, { accept: 'application/json' });
  if (status !== 200) throw new Error(`${path} was answered with ${status}: ${body}`);
  return JSON.parse(body) as T;
}

interface StatusDocument {
  items: Record<string, Record<string, number>>;
  passports: Record<string, number>;
  quarantined: number;
  productsInQuarantine: number;
  guarded: { source: string; stream: string }[];
  running: string[];
  left: Record<string, number | null>;
  sources: {
    source: string;
    lastRun: null | { id: number; result: string | null; streams: Record<string, number>[] };
  }[];
}

/** What is still to be sent. Nothing is requested at rest. */
function leftOf(moment: Moment): Record<string, number> {
  const fact = factsOf(moment);
  const [due, sending, following] = [fact('left due'), fact('left sending'), fact('left following')];
  const incomplete = fact('passports incomplete');
  const others = { waiting: fact('left waiting'), unconfirmed: fact('left in_doubt'), incomplete };
  return { soon: due + sending + following, due, sending, following, requested: 0, ...others };
}

/** The document of `status`, of the admin API and of the command. */
function statusClaims(moment: Moment, where: string, status: StatusDocument): Claim[] {
  const fact = factsOf(moment);
  const claims: Claim[] = [];
  const claim = (what: string, shown: number | string, is: number | string) => claims.push({ where, what, shown, is });
  for (const kind of ITEM_KINDS)
    for (const state of STATES_IN_ORDER) {
      claim(`${kind} ${state}`, status.items[kind]?.[state] ?? 0, fact(`items ${kind} ${state}`));
    }
  for (const state of PASSPORT_STATES)
    claim(`passports ${state}`, status.passports[state] ?? 0, fact(`passports ${state}`));
  claim('quarantined', status.quarantined, fact('quarantined'));
  claim('productsInQuarantine', status.productsInQuarantine, fact('unmade'));
  for (const [name, is] of Object.entries(leftOf(moment))) claim(`left ${name}`, status.left[name] ?? -1, is);
  const seconds = status.left['seconds'] ?? 0;
  if (seconds > 0) claim('left seconds', seconds, secondsLeftOf(moment));
  claim(
    'guarded',
    status.guarded
      .map(({ source, stream }) => `${source}/${stream}`)
      .sort()
      .join(),
    moment.books.guarded.join(),
  );
  for (const { source, lastRun: shown } of status.sources) {
    const run = lastRun(moment, source);
    claim(`last run of ${source}`, shown?.id ?? 0, run?.id ?? 0);
    claim(`result of ${source}`, shown?.result ?? '', run?.result ?? '');
    for (const count of ACCOUNT)
      claim(`${source} ${count}`, sum((shown?.streams ?? []).map((stream) => stream[count] ?? 0)), run?.[count] ?? 0);
  }
  return claims;
}

interface CauseRow {
  id: string;
  type: string;
  source: string | null;
  code: string;
  field: string | null;
  count: number;
  passportsHeld: number | null;
}

/** All that the admin API lists. */
async function apiClaims(moment: Moment): Promise<Claim[]> {
  const fact = factsOf(moment);
  const claims = statusClaims(moment, '/api/v1/status', await json<StatusDocument>(moment, '/api/v1/status'));
  const total = async (path: string, is: number) => {
    const { total: found } = await json<{ total: { count: number; atLeast: boolean } }>(moment, `/api/v1/${path}`);
    claims.push({ where: path, what: 'total', shown: found.atLeast ? Math.min(found.count, is) : found.count, is });
  };
  for (const state of ['due', 'sending', 'waiting', 'in_doubt'])
    await total(`items?limit=1&state=${state}`, fact(`left ${state}`));
  for (const kind of ITEM_KINDS) {
    await total(`items?limit=1&kind=${kind}`, sum(STATES_IN_ORDER.map((state) => fact(`items ${kind} ${state}`))));
    await total(`items?limit=1&kind=${kind}&state=delivered`, fact(`items ${kind} delivered`));
  }
  for (const state of PASSPORT_STATES) await total(`passports?limit=1&state=${state}`, fact(`passports ${state}`));
  await total('quarantine?limit=1', fact('quarantined'));
  await total('runs?limit=1', moment.books.runs.length);
  await total('audit?limit=1', fact('actions'));
  const counts = await json<Record<string, number>>(moment, '/api/v1/passport-counts');
  for (const state of PASSPORT_STATES)
    claims.push({ where: 'passport-counts', what: state, shown: counts[state] ?? 0, is: fact(`passports ${state}`) });
  return claims;
}

/** The causes, by the address of their page. Together they have every row in quarantine and every item that needs a person. */
async function causesOf(moment: Moment): Promise<{ claims: Claim[]; causes: Causes }> {
  const fact = factsOf(moment);
  const rows = await json<CauseRow[]>(moment, '/api/v1/causes');
  const of = (type: string) => sum(rows.filter((row) => row.type === type).map(({ count }) => count));
  const where = '/api/v1/causes';
  const held = rows
    .filter(({ type }) => type === 'quarantine')
    .map(({ source, code, field, passportsHeld }) => {
      return {
        where,
        what: `${code} of ${source}`,
        shown: passportsHeld ?? -1,
        is: fact(`held ${source} ${code} ${field}`),
      };
    });
  const claims = [
    ...held,
    { where, what: 'rows in quarantine', shown: of('quarantine'), is: fact('quarantined') },
    ...(['blocked', 'rejected', 'parked'] as const).map((state) => ({
      where,
      what: state,
      shown: of(state),
      is: fact(`stuck ${state}`),
    })),
    { where, what: 'unconfirmed', shown: of('unconfirmed'), is: fact('stuck in_doubt') },
    {
      where,
      what: 'guards',
      shown: rows.filter(({ type }) => type === 'guard').length,
      is: moment.books.guarded.length,
    },
  ];
  return {
    claims,
    causes: new Map(
      rows.map(({ id, count, passportsHeld: waiting, type, source, code, field }) => [
        `/attention/${id}`,
        { type, of: `${source} ${code} ${field}`, count, held: waiting },
      ]),
    ),
  };
}

async function historyClaims(moment: Moment): Promise<Claim[]> {
  const fact = factsOf(moment);
  const where = '/api/v1/history';
  const { funnel, hours } = await json<{ funnel: Record<string, number>; hours: Record<string, number>[] }>(
    moment,
    where,
  );
  const items = sum(ITEM_KINDS.flatMap((kind) => STATES_IN_ORDER.map((state) => fact(`items ${kind} ${state}`))));
  const products = sum(PASSPORT_STATES.map((state) => fact(`passports ${state}`)));
  const expected: Record<string, number> = {
    rows: fact('rows'),
    quarantined: fact('quarantined'),
    items,
    delivered: sum(ITEM_KINDS.map((kind) => fact(`items ${kind} delivered`))),
    products,
    complete: products - fact('passports none') - fact('passports incomplete'),
    published: fact('passports published'),
  };
  return [
    ...Object.entries(expected).map(([what, is]) => ({ where, what, shown: funnel[what] ?? -1, is })),
    ...Object.entries(moment.activity).map(([what, is]) => ({
      where: `${where} hours`,
      what,
      shown: sum(hours.map((hour) => hour[what] ?? 0)),
      is,
    })),
  ];
}

async function commandClaims(moment: Moment): Promise<Claim[]> {
  const { stdout } = await runHere(['status', '--json', '-c', moment.configFile]);
  return statusClaims(moment, 'status --json', JSON.parse(stdout) as StatusDocument);
}

async function metricClaims(moment: Moment): Promise<Claim[]> {
  const { body } = await moment.visitor.get('/metrics');
  const series = Array.from(
    body.matchAll(/^dpp_sync_(\w+)(?:\{(.*?)\})? (\S+)$/gm),
    ([, name = '', labels = '', value]) => ({
      name,
      labels: Object.fromEntries(
        Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, label = '', text = '']) => [label, text]),
      ),
      value: Number(value),
    }),
  );
  const fact = factsOf(moment);
  const claims: Claim[] = [];
  const each = (name: string, is: (labels: Record<string, string>) => number | null) => {
    for (const { labels, value } of series.filter((one) => one.name === name)) {
      const expected = is(labels);
      if (expected !== null)
        claims.push({ where: 'metrics', what: `${name} ${JSON.stringify(labels)}`, shown: value, is: expected });
    }
  };
  each('items', ({ source, kind, state }) => fact(`items ${source} ${kind} ${state}`));
  each('quarantined_records', ({ source }) => fact(`quarantined ${source}`));
  each('running', ({ source = '' }) => (moment.running.includes(source) ? 1 : 0));
  each('guard_held', ({ source, stream }) => (moment.books.guarded.includes(`${source}/${stream}`) ? 1 : 0));
  each('missing_items', () => 0);
  each('left_to_send', ({ state = '' }) => leftOf(moment)[state] ?? -1);
  const ended = (source = '') => moment.books.runs.find((run) => run.source === source && run.endedAt !== null);
  each('last_run_records', ({ source, result = '' }) => ended(source)?.[result as (typeof ACCOUNT)[number]] ?? 0);
  each('last_run_result', ({ source, result }) => (ended(source)?.result === result ? 1 : 0));
  for (const state of PASSPORT_STATES) {
    const shown = sum(
      series.filter(({ name, labels }) => name === 'passports' && labels['state'] === state).map(({ value }) => value),
    );
    claims.push({ where: 'metrics', what: `passports ${state}`, shown, is: fact(`passports ${state}`) });
  }
  const requests = sum(series.filter(({ name }) => name === 'requests_total').map(({ value }) => value));
  claims.push({ where: 'metrics', what: 'requests_total', shown: requests, is: moment.answered });
  return claims;
}

export async function readAll(moment: Moment): Promise<Claim[]> {
  const { claims, causes } = await causesOf(moment);
  return [
    ...claims,
    ...(await apiClaims(moment)),
    ...(await historyClaims(moment)),
    ...(await metricClaims(moment)),
    ...(await commandClaims(moment)),
    ...(await readPages(moment, causes)),
    ...(await itemClaims(moment)),
  ];
}
