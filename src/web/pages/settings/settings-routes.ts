import { readFile } from 'node:fs/promises';
import type { SecretSource } from '../../../config/interpolate.ts';
import { type ConfigEntry, describeConfig } from '../../../config/schema/describe-config.ts';
import type { AlertView, ChannelView } from '../../../domain/ports/alerts.ts';
import type { BackupFile, BackupStatus, ReloadStatus } from '../../../domain/ports/ledger/care-ledger.ts';
import { maskSecret } from '../../../lib/logging/secrets.ts';
import { muteAlert, testAlerts } from '../../../operations/alerts.ts';
import { backUp, reloadConfig } from '../../../operations/daemon.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, csrfField, dataTable, keyValues, pageHead, withCode } from '../../parts.ts';
import {
  form,
  forOperation,
  get,
  type Notice,
  type PageContext,
  type Person,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted, durationOf, timeOf } from '../../shown-values.ts';
import { badRequest } from '../../web-fault.ts';
import { checkSettings } from './check-settings.ts';
import { type PeopleView, peopleCard } from './people-card.ts';

const PATH = '/settings';

/**
 * The routes of the page about the settings of the daemon, for operators: config, keys, backups, alerts, users and
 * versions.
 */
export function settingsRoutes(context: PageContext): Route[] {
  const { runtime, care, tasks, clock, version, startedAt } = context;
  const { config } = runtime;

  async function page(request: WebRequest): Promise<WebAnswer> {
    const { backups } = care;
    const { alerts } = runtime;
    const view = {
      configFile: config.file,
      entries: await entriesOf(context),
      reload: care.lastReload(),
      target: {
        baseUrl: config.target.baseUrl,
        key: await prefixOf(config.target.apiKey),
        publishKey: config.target.publishKey === null ? null : await prefixOf(config.target.publishKey),
      },
      backups: {
        configured: backups.configured,
        files: await backups.list(),
        lastTry: backups.lastTry(),
        nextAt: backups.nextAt(),
      },
      alerts: alerts === null ? null : { channels: alerts.channels(), list: alerts.list() },
      people: {
        users: (config.web?.users ?? []).map(({ name, role, password }) => ({
          name,
          role,
          hasPassword: password !== null,
        })),
        hasToken: config.web?.token !== null,
        userHeader: config.web?.userHeader ?? null,
        trustedProxies: config.web?.trustedProxies ?? [],
      },
      versions: [
        ['dpp-sync', version],
        ['Node', process.version],
        ['Format of the ledger', (await runtime.reads.versions()).ledger],
        ['SQLite', (await runtime.reads.versions()).sqlite],
        ['Queue', config.queue.kind === 'embedded' ? 'embedded' : 'Redis (its version is part of the check)'],
      ] as [string, string][],
      startedAt,
      now: clock.now(),
      person: request.person,
    };
    return { type: 'page', title: 'Settings', at: PATH, body: settingsPage(view, request) };
  }

  async function reload({ form: fields }: WebRequest): Promise<WebAnswer> {
    const { ok, held, errors, changed, after } = await care.reload('person', fields.get('accept') === 'yes');
    const notice = ok ? reloaded(changed, after) : held === true ? waits(errors) : refused(errors);
    return { type: 'redirect', to: PATH, notice };
  }

  async function mute(request: WebRequest): Promise<WebAnswer> {
    const [id = '', length = ''] = ['id', 'for'].map((name) => request.form.get(name) ?? '');
    const asked = muteAlert.request.safeParse({ id, forMs: length === '' ? null : Number(length) });
    if (!asked.success) throw badRequest('An alert is muted for 90 days at most. Choose a time from the list.');
    const { mutedUntil } = await muteAlert.run(asked.data, forOperation(context, request));
    const text =
      mutedUntil === null ? `Notices of ${id} are sent again.` : `No notices of ${id} are sent for this time.`;
    return { type: 'redirect', to: PATH, notice: { text, tone: 'good' } };
  }

  async function test({ abort }: WebRequest): Promise<WebAnswer> {
    const results = (await runtime.alerts?.test(abort)) ?? [];
    if (results.length === 0) {
      const text = 'The config has no channel for alerts, so no test notice was sent.';
      return { type: 'redirect', to: PATH, notice: { text, tone: 'warn' } };
    }
    const failed = results.filter(({ ok }) => !ok).map(({ channel, error }) => `${channel}: ${error ?? 'failed'}`);
    const notice: Notice =
      failed.length === 0
        ? { text: `A test notice was sent to ${results.map(({ channel }) => channel).join(', ')}.`, tone: 'good' }
        : { text: `The test notice was not sent everywhere. ${failed.join(' ')}`, tone: 'bad' };
    return { type: 'redirect', to: PATH, notice };
  }

  const check = ({ person }: WebRequest) =>
    startTask(tasks, checkSettings, {}, { person, title: 'Check of sources, queue and API' });
  const backup = ({ person }: WebRequest) => startTask(tasks, backUp, {}, { person, title: 'Backup of the ledger' });
  return [
    get(PATH, 'operator', page),
    form(`${PATH}/check`, checkSettings, check, { action: 'settings.check' }),
    form(`${PATH}/backup`, backUp, backup, { action: 'ledger.backup' }),
    form(`${PATH}/reload`, reloadConfig, reload, { action: 'config.reload' }),
    form(`${PATH}/alerts/mute`, muteAlert, mute, { action: 'alert.mute' }),
    form(`${PATH}/alerts/test`, testAlerts, test, { action: 'alert.test' }),
  ];
}

/** The values of the file, without any known secret. */
async function entriesOf({ runtime }: PageContext) {
  const { config, secrets } = runtime;
  const text = await readFile(config.file, 'utf8').catch(() => null);
  const schemas = config.sources.map(({ connector }) => connector);
  const entries = text === null ? null : describeConfig(text, schemas);
  return entries?.map((entry) => ({ ...entry, value: secrets.scrubValue(entry.value) })) ?? null;
}

async function prefixOf(key: SecretSource): Promise<string | null> {
  try {
    return maskSecret(await key.read());
  } catch {
    return null;
  }
}

function reloaded(changed: readonly string[], after: readonly string[]): Notice {
  if (changed.length === 0) return { text: 'The config was read again. Nothing has changed.', tone: 'good' };
  const later = after.length === 0 ? '' : ` ${after.join(', ')} are used when their runs have ended.`;
  return { text: `The config was read again. Changed: ${changed.join(', ')}.${later}`, tone: 'good' };
}

function waits(errors: readonly string[]): Notice {
  return { text: `The former settings stay in use. ${errors.join(' ')}`, tone: 'warn' };
}

function refused(errors: readonly string[]): Notice {
  return { text: `The config was refused, and the former settings stay in use. ${errors.join(' ')}`, tone: 'bad' };
}

interface SettingsView {
  configFile: string;
  /** Null if the file cannot be read as a config any more. */
  entries: readonly ConfigEntry[] | null;
  reload: ReloadStatus | null;
  target: { baseUrl: string; key: string | null; publishKey: string | null };
  backups: {
    configured: boolean;
    files: readonly BackupFile[];
    lastTry: BackupStatus | null;
    nextAt: number | null;
  };
  /** Null if the daemon sends no alerts. */
  alerts: { channels: readonly ChannelView[]; list: readonly AlertView[] } | null;
  people: PeopleView;
  versions: readonly (readonly [string, string])[];
  startedAt: number;
  now: number;
  person: Person;
}

/** The page with the settings of the daemon, and the actions of operators. */
function settingsPage(view: SettingsView, request: WebRequest): Html {
  const check = confirmForm(request, { action: '/settings/check', button: 'Check sources, queue and API' });
  return html`${pageHead('Settings', { actions: check })}
<div class="columns">${targetCard(view)}${reloadCard(view, request)}${backupsCard(view, request)}${peopleCard(view.people)}${versionsCard(view)}</div>
${alertsCard(view, request)}${configCard(view)}`;
}

function targetCard({ target }: SettingsView): Html {
  const { baseUrl, key, publishKey } = target;
  return card('Platform', [
    keyValues([
      ['Address', html`<span class="mono">${baseUrl}</span>`],
      ['Key', key === null ? html`<span class="bad">cannot be read</span>` : html`<code>${key}</code>`],
      ['Key for publishing', publishKey === null ? null : html`<code>${publishKey}</code>`],
    ]),
    html`<p class="quiet">Only the first 8 characters of a key are shown. The check shows the plan and the scopes of the key.</p>`,
  ]);
}

function reloadCard({ reload, configFile }: SettingsView, request: WebRequest): Html {
  const errors = reload === null ? [] : reload.errors.map((text) => html`<li>${text}</li>`);
  const standing =
    reload === null
      ? html`<p>The daemon uses the config with which it was started.</p>`
      : reload.ok
        ? html`<p class="good">Read again ${timeOf(reload.at)}.</p>`
        : reload.held === true
          ? html`<p class="warn">Waits for a decision since ${timeOf(reload.at)}. The former settings stay in use.</p><ul>${reload.errors.map((text) => html`<li>${withCode(text)}</li>`)}</ul>`
          : html`<p class="bad">Refused ${timeOf(reload.at)}. The former settings stay in use.</p><ul>${errors}</ul>`;
  return card('Config', [
    html`<p class="mono">${configFile}</p>`,
    standing,
    reload?.held === true
      ? confirmForm(request, {
          action: '/settings/reload',
          button: 'Approve the change and use it',
          fields: { accept: 'yes' },
          tone: 'grave',
        })
      : null,
    confirmForm(request, { action: '/settings/reload', button: 'Read the config again' }),
  ]);
}

function backupsCard({ backups }: SettingsView, request: WebRequest): Html {
  const { configured, files, lastTry, nextAt } = backups;
  if (!configured) {
    return card(
      'Backups',
      html`<p class="warn">The config has no <code>backups</code>, so dpp-sync makes no backups of the ledger automatically.</p>`,
    );
  }
  const rows = files
    .slice(0, 20)
    .map(({ file, madeAt, bytes }) => [
      timeOf(madeAt),
      html`<span class="mono">${file.split('/').at(-1) ?? file}</span>`,
      `${(bytes / 1_000_000).toFixed(1)} MB`,
    ]);
  return card('Backups', [
    lastTry !== null && !lastTry.ok
      ? html`<p class="bad">The last backup failed ${timeOf(lastTry.at)}: ${lastTry.error}</p>`
      : null,
    nextAt === null ? html`<p>No schedule makes backups.</p>` : html`<p>The next one is made ${timeOf(nextAt)}.</p>`,
    dataTable({
      caption: 'Backups',
      columns: [{ name: 'made' }, { name: 'file' }, { name: 'size', number: true }],
      rows,
      empty: 'There is no backup yet.',
    }),
    confirmForm(request, { action: '/settings/backup', button: 'Make a backup now' }),
  ]);
}

function versionsCard({ versions, startedAt, now }: SettingsView): Html {
  return card('Versions', keyValues([...versions, ['Running for', durationOf(now - startedAt)]]));
}

const MUTES = [
  { ms: 3_600_000, name: '1 hour' },
  { ms: 86_400_000, name: '1 day' },
  { ms: 7 * 86_400_000, name: '1 week' },
];

function alertsCard({ alerts, now }: SettingsView, request: WebRequest): Html | null {
  if (alerts === null) return null;
  const rows = alerts.list.map((alert) => {
    const { id, firing, since, message, mutedUntil } = alert;
    const isMuted = mutedUntil !== null && mutedUntil > now;
    const standing = firing ? html`<span class="badge bad">firing</span>` : html`<span class="badge good">over</span>`;
    return [
      html`<span class="mono">${id}</span>`,
      standing,
      timeOf(since),
      withCode(message),
      noticesOf(alert),
      muteForm(id, isMuted ? mutedUntil : null, request),
    ];
  });
  const channels = alerts.channels.map(({ id, type }) => `${id} (${type})`).join(', ');
  return card('Alerts', [
    html`<p>${channels === '' ? withCode('No channel is configured, so no person gets a notice. Add a channel to `alerts` in the config.') : `Notices go to ${channels}.`}</p>`,
    dataTable({
      caption: 'Alerts',
      columns: ['alert', 'state', 'since', 'what happened', 'notices', 'mute'].map((name) => ({ name })),
      rows,
      empty: 'Nothing has been reported.',
    }),
    alerts.channels.length === 0
      ? null
      : confirmForm(request, { action: '/settings/alerts/test', button: 'Send a test notice' }),
  ]);
}

const NOTICES = { none: 'nothing to report', waiting: 'waiting', sent: 'sent', given_up: 'given up' } as const;

function noticesOf({ notices }: AlertView): Html {
  const lines = notices.map(
    ({ channel, state, error }) =>
      html`<li>${channel}: ${NOTICES[state]}${error === null ? null : html`. <span class="bad">${error}</span>`}</li>`,
  );
  return html`<ul class="plain">${lines}</ul>`;
}

function muteForm(id: string, mutedUntil: number | null, request: WebRequest): Html {
  const hidden = html`${csrfField(request)}<input type="hidden" name="id" value="${id}" />`;
  if (mutedUntil !== null) {
    return html`<form class="inline" method="post" action="/settings/alerts/mute">${hidden}<input type="hidden" name="for" value="" />muted until ${timeOf(mutedUntil)} <button class="plain" aria-label="Unmute ${id}">Unmute</button></form>`;
  }
  const options = MUTES.map(({ ms, name }) => html`<option value="${ms}">${name}</option>`);
  return html`<form class="inline" method="post" action="/settings/alerts/mute">${hidden}<select name="for" aria-label="How long to mute ${id}">${options}</select> <button class="plain" aria-label="Mute ${id}">Mute</button></form>`;
}

function configCard({ entries, reload }: SettingsView): Html {
  if (entries === null) {
    return card(
      'Values of the config',
      html`<p class="bad">The file cannot be read as a config. The daemon keeps the config that it has loaded.</p>`,
    );
  }
  const sections = Map.groupBy(entries, ({ path }) => /^[^.[]+(?:\[\d+\])?/.exec(path)?.[0] ?? path);
  const parts = [...sections].map(([name, of]) => {
    const rows = of.map(({ path, value, from, line }) => [
      html`<span class="mono">${path}</span>`,
      html`<code>${value}</code>`,
      from === 'default'
        ? html`<span class="quiet">default</span>`
        : html`file${line === null ? null : `, line ${line}`}`,
    ]);
    const table = dataTable({
      caption: `Values of ${name}`,
      columns: [{ name: 'key' }, { name: 'value' }, { name: 'from' }],
      rows,
    });
    return html`<details><summary><b class="mono">${name}</b> <span class="quiet">${counted(of.length, 'value')}</span></summary>${table}</details>`;
  });
  const warning =
    reload?.ok === false
      ? html`<p class="warn">These are the values of the file as it is now. The daemon has refused the file and works with the former values.</p>`
      : null;
  return card('Values of the config', [
    warning,
    html`<p class="quiet">The settings as the file has them: placeholders stand for values from the environment and from files. Secrets are masked.</p>`,
    ...parts,
  ]);
}
