import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { ALERT_CONDITIONS } from '../../../src/domain/ports/alerts.ts';
import { METRICS } from '../../../src/observe/metrics.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { describePromtool, promtool } from './promtool.ts';

const CONFIG = fileURLToPath(new URL('../../../config', import.meta.url));
const OTHER = { ...PRODUCTS.source, id: 'pim', options: { path: './others.csv', key: ['SKU'] } };

interface Series {
  name: string;
  labels: string;
  value: string;
}

function seriesOf(text: string): Series[] {
  return Array.from(
    text.matchAll(/^([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)$/gm),
    ([, name = '', labels = '', value = '']) => ({
      name,
      labels,
      value,
    }),
  );
}

function rulesOfPrometheus(): { expr: string; labels: { condition?: string } }[] {
  const { groups } = parse(readFileSync(`${CONFIG}/prometheus/alerts.yaml`, 'utf8')) as {
    groups: { rules: ReturnType<typeof rulesOfPrometheus> }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

interface GrafanaDashboard {
  panels: {
    id: number;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets?: { expr: string }[];
  }[];
  templating: { list: { definition?: string }[] };
}

function dashboardOfGrafana(): GrafanaDashboard {
  return JSON.parse(readFileSync(`${CONFIG}/grafana/dpp-sync.json`, 'utf8')) as GrafanaDashboard;
}

/** Every metric that an expression of PromQL names. */
function metricsIn(expression: string): string[] {
  const bare = expression.replace(/\{[^}]*\}/g, '');
  return bare.match(/\b(?:dpp_sync|process|nodejs)_[a-z0-9_]+/g) ?? [];
}

describe('the metrics of a daemon', () => {
  let world: World;
  let daemon: Daemon;
  let url: string;
  const scrape = async () =>
    (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } })).text();
  const valueOf = async (name: string, labels = '') =>
    seriesOf(await scrape()).find((series) => series.name === `dpp_sync_${name}` && series.labels === labels)?.value;
  let atStart: string;

  beforeAll(async () => {
    world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [{ ...PRODUCTS.source, schedule: '0 3 1 1 *' }, OTHER],
        passports: { init: 'when-complete', publish: 'auto' },
        alerts: { channels: [{ id: 'team', exec: { program: '/bin/true' } }], when: { quarantineAbove: 1 } },
      },
      files: {
        ...PRODUCTS.files,
        'products.csv': 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,Toaster,20\nA-3,,10\nA-4,Lamp,99\n',
        'others.csv': 'SKU,NAME,STATE\nB-1,Mixer,10\n',
      },
    });
    ({ daemon, url } = await startDaemon(world));
    const READY = { timeout: WAIT_MS };
    // An answer has no counts of the ledger while the first count takes longer than a scrape may wait.
    await vi.waitUntil(async () => (atStart = await scrape()).includes('\ndpp_sync_items{'), READY);
    await daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => (await valueOf('passports', 'source="erp",state="blocked"')) === '1', READY);
    const rejected = 'source="erp",kind="product",state="rejected"';
    await vi.waitUntil(async () => (await valueOf('items', rejected)) === '1', READY);
  });
  afterAll(async () => {
    await daemon.stop();
    await world.remove();
  });

  it('a daemon has all metrics of the table, each with its series from the first scrape on', () => {
    const names = new Set(seriesOf(atStart).map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')));
    expect(Object.keys(METRICS).filter((name) => !names.has(`dpp_sync_${name}`))).toEqual([]);
    const others = [...names].filter((name) => name.startsWith('dpp_sync_') && !(name.slice(9) in METRICS));
    expect(others).toEqual([]);
  });

  it('the metrics begin with zeros, also for a source that has never completed a run', () => {
    const values = new Map(seriesOf(atStart).map(({ name, labels, value }) => [`${name}{${labels}}`, value]));
    expect(values.get('dpp_sync_last_complete_run_timestamp_seconds{source="pim"}')).toBe('0');
    expect(values.get('dpp_sync_runs_total{source="pim",result="failed"}')).toBe('0');
    expect(values.get('dpp_sync_records_total{source="pim",stream="default",result="read"}')).toBe('0');
    expect(values.get('dpp_sync_items{source="pim",kind="passport",state="blocked"}')).toBe('0');
    expect(values.get('dpp_sync_requests_total{operation="passport.publish",outcome="throttled"}')).toBe('0');
    expect(values.get('dpp_sync_guard_held{source="pim",stream="default"}')).toBe('0');
    // A value that does not apply is NaN, so that no rule fires for it.
    expect(values.get('dpp_sync_next_run_timestamp_seconds{source="pim"}')).toBe('Nan');
    expect(values.get('dpp_sync_last_backup_timestamp_seconds{}')).toBe('Nan');
    expect(values.get('dpp_sync_api_learnt_rate_per_second{}')).toBe('Nan');
  });

  it('the metrics count items, passports and the quarantine of each source', async () => {
    expect(await valueOf('items', 'source="erp",kind="product",state="delivered"')).toBe('1');
    expect(await valueOf('items', 'source="erp",kind="passport",state="blocked"')).toBe('1');
    expect(await valueOf('items', 'source="pim",kind="product",state="delivered"')).toBe('0');
    expect(await valueOf('quarantined_records', 'source="erp",stream="default"')).toBe('2');
    expect(await valueOf('quarantined_records', 'source="pim",stream="default"')).toBe('0');
    expect(await valueOf('passports', 'source="erp",state="incomplete"')).toBe('1');
    await expect.poll(() => valueOf('alerts_firing', 'condition="quarantine"')).toBe('1');
    await expect.poll(() => valueOf('alert_notices_total', 'channel="team",result="sent"')).toBe('1');
    expect(await valueOf('last_run_records', 'source="erp",stream="default",result="quarantined"')).toBe('2');
    await daemon.startRun('pim', 'schedule');
    const SOON = { timeout: WAIT_MS };
    await expect.poll(() => valueOf('passports', 'source="pim",state="blocked"'), SOON).toBe('1');
    expect(await valueOf('items', 'source="pim",kind="product",state="delivered"')).toBe('1');
    expect(await valueOf('items', 'source="erp",kind="product",state="delivered"')).toBe('1');
    expect(Number(await valueOf('last_complete_run_timestamp_seconds', 'source="pim"'))).toBeGreaterThan(1e9);
    expect(Number(await valueOf('ledger_bytes', 'file="database"'))).toBeGreaterThan(4096);
  });

  it('each rule and each panel asks for metrics that exist', async () => {
    const names = new Set(seriesOf(await scrape()).map(({ name }) => name));
    const dashboard = dashboardOfGrafana();
    const expressions = [
      ...rulesOfPrometheus().map(({ expr }) => expr),
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.flatMap(({ definition = '' }) => definition),
    ];
    const asked = expressions.flatMap(metricsIn);
    expect(asked.length).toBeGreaterThan(30);
    expect(asked.filter((name) => !names.has(name))).toEqual([]);
    // Every metric of ours is on the dashboard or in a rule, except for those that only details need.
    const shown = new Set(asked.map((name) => name.replace(/_bucket$/, '')));
    const unshown = Object.keys(METRICS).filter((name) => !shown.has(`dpp_sync_${name}`));
    expect(unshown).toEqual(['last_run_ended_timestamp_seconds']);
  });

  it('each panel of the dashboard for Grafana has an id and a place of its own', () => {
    const { panels } = dashboardOfGrafana();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.flatMap(({ title, gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => ({ title, place: `${x + (cell % w)},${y + Math.floor(cell / w)}` })),
    );
    const shared = [...Map.groupBy(places, ({ place }) => place).values()].filter((panel) => panel.length > 1);
    expect(shared.map((panel) => panel.map(({ title }) => title))).toEqual([]);
  });

  it('each condition of the alerts of a daemon has a rule for Prometheus, and no rule names another condition', () => {
    const named = rulesOfPrometheus().flatMap(({ labels: { condition } }) => condition ?? []);
    expect([...new Set(named)].sort()).toEqual([...ALERT_CONDITIONS].sort());
  });

  describePromtool('and promtool', () => {
    it('promtool finds nothing to object to in a scrape', async () => {
      expect(promtool(['check', 'metrics'], { input: await scrape() })).toEqual({ status: 0, text: '' });
    });

    it('promtool accepts the alert rules, and each rule fires only in its own situation', () => {
      const cwd = `${CONFIG}/prometheus`;
      expect(promtool(['check', 'rules', 'alerts.yaml'], { cwd }).text).toContain('SUCCESS');
      const { status, text } = promtool(['test', 'rules', 'alerts.test.yaml'], { cwd });
      expect(text).toContain('SUCCESS');
      expect(status).toBe(0);
    });

    it('each alert rule has a test', () => {
      const names = Array.from(readFileSync(`${CONFIG}/prometheus/alerts.yaml`, 'utf8').matchAll(/alert: (\w+)/g));
      const tests = readFileSync(`${CONFIG}/prometheus/alerts.test.yaml`, 'utf8');
      expect(names.map(([, name = '']) => name).filter((name) => !tests.includes(name))).toEqual([]);
    });
  });
});
