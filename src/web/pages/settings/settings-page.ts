import type { ConfigEntry } from '../../../config/schema/describe-config.ts';
import type { AlertView, ChannelView } from '../../../domain/ports/alerts.ts';
import type { BackupFile, BackupStatus, ReloadStatus } from '../../../domain/ports/ledger/care-ledger.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, csrfField, dataTable, keyValues, pageHead } from '../../parts.ts';
import type { Person, WebRequest } from '../../server/route.ts';
import { counted, durationOf, timeOf } from '../../shown-values.ts';

export interface SettingsView {
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
  users: readonly { name: string; role: string }[];
  hasToken: boolean;
  versions: readonly (readonly [string, string])[];
  startedAt: number;
  now: number;
  person: Person;
}

/** The page with the settings of the daemon, and the actions of operators. */
export function settingsPage(view: SettingsView, request: WebRequest): Html {
  const check = confirmForm(request, { action: '/settings/check', button: 'Check sources, queue and API' });
  return html`${pageHead('Settings', { actions: check })}
<div class="columns">${targetCard(view)}${reloadCard(view, request)}${backupsCard(view, request)}${usersCard(view)}${versionsCard(view)}</div>
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
        : html`<p class="bad">Refused ${timeOf(reload.at)}. The former settings stay in use.</p><ul>${errors}</ul>`;
  return card('Config', [
    html`<p class="mono">${configFile}</p>`,
    standing,
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

function usersCard({ users, hasToken }: SettingsView): Html {
  const rows = users.map(({ name, role }) => [name, role]);
  const token = hasToken ? html`<p>Whoever logs in with the token is an operator.</p>` : null;
  return card('Who may log in', [
    users.length === 0
      ? html`<p>Only people who have the token. <code>web.users</code> in the config adds people with roles.</p>`
      : dataTable({ caption: 'Users', columns: [{ name: 'name' }, { name: 'role' }], rows }),
    token,
    html`<p><a href="/audit">Audit log: what people have done</a></p>`,
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
      message,
      noticesOf(alert),
      muteForm(id, isMuted ? mutedUntil : null, request),
    ];
  });
  const channels = alerts.channels.map(({ id, type }) => `${id} (${type})`).join(', ');
  return card('Alerts', [
    html`<p>${channels === '' ? 'No channel is configured, so no person gets a notice. Add a channel to `alerts` in the config.' : `Notices go to ${channels}.`}</p>`,
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
