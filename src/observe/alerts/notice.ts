import type { Notice } from '../../domain/alert-settings.ts';
import type { AlertCondition } from '../../domain/ports/alerts.ts';
import type { DueNotice } from './alert-book.ts';

const TITLES: Record<AlertCondition, { firing: string; over: string }> = {
  run_failed: { firing: 'Run failed', over: 'Runs succeed again' },
  guard_held: { firing: 'Export held by the guard', over: 'Export is no longer held' },
  quarantine: { firing: 'Records in quarantine', over: 'Quarantine is within its limit again' },
  nothing_synced: { firing: 'Nothing synced for too long', over: 'Runs complete again' },
  key_refused: { firing: 'The API refuses the key', over: 'The API accepts the key again' },
  api_down: { firing: 'The API is down', over: 'The API answers again' },
  backup_old: { firing: 'The last backup is too old', over: 'There is a recent backup again' },
  config_refused: { firing: 'The config was refused', over: 'The config is in use' },
};

export function noticeOf({ alert, firing }: DueNotice, host: string): Notice {
  const { id, condition, source, stream, message, since } = alert;
  const titles = TITLES[condition];
  const place = [source, stream].filter((part) => part !== null).join('/');
  const what = firing ? titles.firing : titles.over;
  return {
    alert: id,
    status: firing ? 'firing' : 'resolved',
    condition,
    source,
    stream,
    title: place === '' ? what : `${what}: ${place}`,
    message: firing ? message : `This alert is over. It was: ${message}`,
    since,
    host,
  };
}

export function testNotice(host: string, now: number): Notice {
  return {
    alert: 'test',
    status: 'test',
    condition: 'test',
    source: null,
    stream: null,
    title: 'Test of the alerts',
    message: 'A person has asked for this test message. Nothing is wrong.',
    since: now,
    host,
  };
}
