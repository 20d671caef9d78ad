import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { faultOf, loadText, problemsIn, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

const HOOK = 'https://hooks.example.com/services/T0PSECRETx42x/Bxyz0123456789?key=querysecret0123';
const withAlerts = (text: string) => `${SOUND_CONFIG}alerts:\n${text.replace(/^/gm, '  ')}\n`;

describe('the alerts of a config', () => {
  it('alerts are watched by default, and reported to nobody', async () => {
    const { alerts } = await loadText(SOUND_CONFIG);
    expect(alerts).toEqual({
      channels: [],
      rules: {
        runFailed: true,
        guardHeld: true,
        runHeld: true,
        quarantineAbove: 0,
        rejectedAbove: 100,
        parkedAbove: 100,
        blockedAbove: null,
        exportEmpty: true,
        failedDeliveries: 0.25,
        nothingSyncedMs: 26 * 3_600_000,
        keyRefused: true,
        apiDownMs: 15 * 60_000,
        backupOldMs: 2 * 86_400_000,
        configRefused: true,
      },
    });
  });

  it('alerts are turned off one by one', async () => {
    const text =
      'when: { runFailed: false, quarantineAbove: false, rejectedAbove: false, parkedAbove: 0, blockedAbove: 5, failedDeliveries: false, nothingSynced: false, apiDown: 2h, backupOld: false }';
    const { alerts } = await loadText(withAlerts(text));
    expect(alerts.rules).toMatchObject({
      runFailed: false,
      quarantineAbove: null,
      rejectedAbove: null,
      parkedAbove: 0,
      blockedAbove: 5,
      failedDeliveries: null,
      nothingSyncedMs: null,
      apiDownMs: 7_200_000,
      backupOldMs: null,
    });
  });

  it('alerts reach people by webhook, mail and program, whose secrets are read when they are needed', async () => {
    const text = `channels:
  - { id: team, webhook: { url: "\${file:hook}", format: slack, token: bearer-token-1 } }
  - { id: mail, email: { host: mail.example.com, user: dpp, password: "\${MAIL_PASSWORD}", from: dpp@example.com, to: [a@example.com] } }
  - { id: pager, exec: { program: ./notify.sh, timeout: 5s } }`;
    const config = await loadText(withAlerts(text), {
      files: { hook: `${HOOK}\n` },
      env: { MAIL_PASSWORD: 'mail-pass-1' },
    });
    const [team, mail, pager] = config.alerts.channels;
    expect(team).toMatchObject({ id: 'team', type: 'webhook', format: 'slack' });
    expect(team?.type === 'webhook' && (await team.url.read())).toBe(HOOK);
    expect(team?.type === 'webhook' && (await team.token?.read())).toBe('bearer-token-1');
    expect(mail).toMatchObject({ id: 'mail', type: 'email', port: 587, security: 'starttls', to: ['a@example.com'] });
    expect(mail?.type === 'email' && (await mail.login?.password.read())).toBe('mail-pass-1');
    expect(pager).toEqual({
      id: 'pager',
      type: 'exec',
      program: join(config.folder, 'notify.sh'),
      args: [],
      timeoutMs: 5000,
    });
    // No secret can be printed with the config.
    expect(JSON.stringify(config.alerts)).not.toMatch(/T0PSECRET|mail-pass|bearer-token/);
  });

  it('alerts keep the path and the query of a webhook out of every text, and leave its host', async () => {
    const secrets = createSecretStore();
    const text = `channels: [{ id: team, webhook: { url: "${HOOK}" } }]`;
    const config = await loadText(withAlerts(text), { secrets });
    const [team] = config.alerts.channels;
    if (team?.type === 'webhook') await team.url.read();
    const scrubbed = secrets.scrub(`POST ${HOOK} at https://hooks.example.com failed`);
    expect(scrubbed).not.toMatch(/SECRETx42x|0123456789|querysecret0123/);
    expect(scrubbed).toContain('at https://hooks.example.com failed');
  });

  it('alerts are refused where a channel is no channel, is there twice, or could be read by others', async () => {
    const text = `channels:
  - { id: a }
  - { id: b, exec: { program: x }, webhook: { url: "${HOOK}" } }
  - { id: b, webhook: { url: "http://hooks.example.com/T0PSECRETx42x" } }
  - { id: c, email: { host: mail.example.com, security: none, from: dpp@example.com, to: [a@example.com] } }
  - { id: d, email: { host: localhost, security: none, user: dpp, from: dpp@example.com, to: ["a@example.com\\r\\nBcc: b@example.com"] } }
when: { apiDown: soon, quarantineAbove: -1 }`;
    const problems = await problemsIn(withAlerts(text));
    expect(Object.keys(problems).sort()).toEqual([
      'alerts.channels[0]',
      'alerts.channels[1]',
      'alerts.channels[2].id',
      'alerts.channels[2].webhook.url',
      'alerts.channels[3].email.security',
      'alerts.channels[4].email.password',
      'alerts.channels[4].email.to[0]',
      'alerts.when.apiDown',
      'alerts.when.quarantineAbove',
    ]);
    expect(String((await faultOf(withAlerts(text))).message)).not.toContain('T0PSECRETx42x');
  });
});
