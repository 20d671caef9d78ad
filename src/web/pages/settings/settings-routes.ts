import { readFile } from 'node:fs/promises';
import type { SecretSource } from '../../../config/interpolate.ts';
import { describeConfig } from '../../../config/schema/describe-config.ts';
import { maskSecret } from '../../../lib/logging/secrets.ts';
import { muteAlert, testAlerts } from '../../../operations/alerts.ts';
import { backUp, reloadConfig } from '../../../operations/daemon.ts';
import {
  form,
  forOperation,
  get,
  type Notice,
  type PageContext,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { badRequest } from '../../web-fault.ts';
import { checkSettings } from './check-settings.ts';
import { settingsPage } from './settings-page.ts';

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
      users: (config.web?.users ?? []).map(({ name, role }) => ({ name, role })),
      hasToken: config.web?.token !== null,
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

  async function reload(): Promise<WebAnswer> {
    const { ok, errors, changed, after } = await care.reload('person');
    return { type: 'redirect', to: PATH, notice: ok ? reloaded(changed, after) : refused(errors) };
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

function refused(errors: readonly string[]): Notice {
  return { text: `The config was refused, and the former settings stay in use. ${errors.join(' ')}`, tone: 'bad' };
}
