import { z } from 'zod';
import type { AlertRules, ChannelSettings, ReadableSecret } from '../domain/ports/alerts.ts';
import { ALERTS } from '../domain/words/alerts.ts';
import { isJsonObject } from '../lib/json.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { isLoopback } from '../lib/loopback.ts';
import { percentDecoded } from '../lib/text/percent.ts';
import type { Findings } from './checks/findings.ts';
import { Duration, HostName, Secret, Share, Slug } from './fields.ts';
import type { PathSegment } from './problem.ts';

const TYPES = ['webhook', 'email', 'exec'] as const;
/** A shorter part of a path is probably an ordinary word, not a secret, such as `services` or `webhook`. */
const PART_LENGTH_MIN = 9;

/**
 * Registers the secret parts of the address of a webhook. Its host is not one of them, because it may be in other texts
 * as well.
 */
export function addAddressSecrets(text: string, secrets: SecretStore): void {
  const url = URL.parse(text);
  if (url === null) return;
  const parts = [
    ...url.pathname.split('/').filter((part) => part.length >= PART_LENGTH_MIN),
    ...url.searchParams.values(),
  ];
  for (const part of [...parts, url.username, url.password]) {
    secrets.add(part);
    secrets.add(percentDecoded(part));
  }
}

/** The channels in the config, before they are checked. */
function channelsIn(value: unknown): unknown[] {
  const alerts = isJsonObject(value) ? value['alerts'] : undefined;
  const channels = isJsonObject(alerts) ? alerts['channels'] : undefined;
  return Array.isArray(channels) ? channels : [];
}

function member(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), value);
}

/** Registers the secrets of all channels. Call it before any message about the config. */
export function addChannelSecrets(value: unknown, secrets: SecretStore): void {
  for (const channel of channelsIn(value)) {
    const url = member(channel, 'webhook', 'url');
    if (typeof url === 'string') addAddressSecrets(url, secrets);
  }
}

/** Checks of the channels that the schema cannot make. */
export function checkChannels(value: unknown, findings: Findings): void {
  const ids = new Set<unknown>();
  for (const [index, channel] of channelsIn(value).entries()) {
    const path = ['alerts', 'channels', index];
    const types = TYPES.filter((type) => member(channel, type) !== undefined);
    if (types.length !== 1) findings.addMismatch(path, 'exactly one of webhook, email and exec');
    const id = member(channel, 'id');
    if (ids.has(id)) findings.addProblem([...path, 'id'], 'another channel has this id');
    ids.add(id);
    checkAddress(member(channel, 'webhook', 'url'), [...path, 'webhook', 'url'], findings);
    checkEmail(member(channel, 'email'), [...path, 'email'], findings);
  }
}

function checkAddress(text: unknown, path: PathSegment[], findings: Findings): void {
  if (typeof text !== 'string' || text === '' || findings.has(path)) return;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  // The value is not shown, because its path may hold a token.
  if (!isSafe) {
    findings.addProblem(
      path,
      'found a value that is not shown, expected an https URL (http is accepted only for 127.0.0.0/8, ::1 and localhost)',
    );
  }
}

function checkEmail(email: unknown, path: PathSegment[], findings: Findings): void {
  if (!isJsonObject(email)) return;
  const { host, security, user, password } = email;
  if (security === 'none' && typeof host === 'string' && !isLoopback(host)) {
    findings.addMismatch([...path, 'security'], 'starttls or tls (none is accepted only for this machine)');
  }
  if ((user === undefined) !== (password === undefined)) {
    findings.addMismatch([...path, user === undefined ? 'user' : 'password'], 'a user together with a password');
  }
}

export interface LoadedAlerts {
  channels: ChannelSettings[];
  rules: AlertRules;
}

/** The alerts without a section: shown by the dashboard and the metrics, without notices. */
export function loadedAlerts(
  { channels, when }: AlertsSection,
  options: {
    secretAt: (path: readonly PathSegment[], text: string) => ReadableSecret;
    resolvePath: (path: string) => string;
  },
): LoadedAlerts {
  const { secretAt, resolvePath } = options;
  return {
    rules: {
      runFailed: when.runFailed,
      guardHeld: when.guardHeld,
      runHeld: when.runHeld,
      quarantineAbove: when.quarantineAbove === false ? null : when.quarantineAbove,
      rejectedAbove: when.rejectedAbove === false ? null : when.rejectedAbove,
      parkedAbove: when.parkedAbove === false ? null : when.parkedAbove,
      blockedAbove: when.blockedAbove === false ? null : when.blockedAbove,
      exportEmpty: when.exportEmpty,
      nothingSyncedMs: when.nothingSynced === false ? null : when.nothingSynced,
      keyRefused: when.keyRefused,
      apiDownMs: when.apiDown === false ? null : when.apiDown,
      failedDeliveries: when.failedDeliveries === false ? null : when.failedDeliveries,
      backupOldMs: when.backupOld === false ? null : when.backupOld,
      configRefused: when.configRefused,
    },
    channels: channels.flatMap(({ id, webhook, email, exec }, index): ChannelSettings[] => {
      const path = ['alerts', 'channels', index];
      if (webhook !== undefined) {
        const url = secretAt([...path, 'webhook', 'url'], webhook.url);
        const token = webhook.token === undefined ? null : secretAt([...path, 'webhook', 'token'], webhook.token);
        return [{ id, type: 'webhook', url, format: webhook.format, token }];
      }
      if (email !== undefined) {
        const { host, port, security, user, password, from, to } = email;
        const login =
          user === undefined || password === undefined
            ? null
            : { user, password: secretAt([...path, 'email', 'password'], password) };
        return [{ id, type: 'email', host, port, security, login, from, to }];
      }
      if (exec === undefined) return [];
      const { program, args, timeout } = exec;
      return [{ id, type: 'exec', program: resolvePath(program), args, timeoutMs: timeout }];
    }),
  };
}

const text = (what: string) => z.string().min(1, what).max(1000, 'at most 1000 characters');
const MailAddress = z
  .string()
  .max(320, 'at most 320 characters')
  .regex(/^(?:[^<>\r\n@]{0,100}<)?[^\s<>@]{1,64}@[^\s<>@]{1,255}>?$/, 'an address such as team@example.com');

const Webhook = z
  .strictObject({
    url: text('a URL').describe(
      'The address that the notice is posted to: https, or http for this machine. Its path and its query count as secrets. Redirects are not followed.',
    ),
    format: z
      .enum(['json', 'slack'])
      .default('json')
      .describe(
        '`json`: a document with all facts about the alert. `slack`: a message in the format of Slack, which many other services accept.',
      ),
    token: Secret.optional().describe('Sent as `Authorization: Bearer …`.'),
  })
  .describe('Posts each notice to an address.');

const Email = z
  .strictObject({
    host: HostName.describe('The mail server.'),
    port: z.int().min(1).max(65_535).default(587).describe('The port of the mail server.'),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe('How the connection is encrypted. `none` is accepted only for a server on this machine.'),
    user: text('a user name').optional().describe('The user who logs in. Without this key there is no login.'),
    password: Secret.optional().describe('The password of the user.'),
    from: MailAddress.describe('The address of the sender.'),
    to: z
      .array(MailAddress)
      .min(1, 'at least one address')
      .max(50, 'at most 50 addresses')
      .describe('The addresses of the receivers.'),
  })
  .describe('Sends each notice as a mail, by SMTP.');

const Exec = z
  .strictObject({
    program: text('the path of a program').describe(
      'The program to run, without a shell. The program gets the notice as JSON on stdin. Exit code 0 means that people got the notice.',
    ),
    args: z
      .array(z.string().max(1000, 'at most 1000 characters'))
      .max(50)
      .default([])
      .describe('The arguments of the program.'),
    timeout: Duration.prefault('30s').describe('How long the program may run. It is killed when it takes longer.'),
  })
  .describe('Runs a program for each notice.');

const Channel = z
  .strictObject({
    id: Slug.describe('The name of the channel in logs, lists and metrics.'),
    webhook: Webhook.optional(),
    email: Email.optional(),
    exec: Exec.optional(),
  })
  .describe('One way to reach people: exactly one of `webhook`, `email` and `exec`.');

const never = (duration: string, what: string) =>
  z
    .union([Duration, z.literal(false)], { error: 'a time such as 15m, 26h or 2d, or false' })
    .prefault(duration)
    .meta({ title: 'time or false' })
    .describe(`${what} \`false\`: never.`);

const above = (fallback: number | false, what: string) =>
  z
    .union([z.int().min(0), z.literal(false)], { error: 'a whole number, or false' })
    .default(fallback)
    .meta({ title: 'whole number or false' })
    .describe(`${what} \`false\`: never.`);

const When = z
  .strictObject({
    runFailed: z.boolean().default(true).describe(ALERTS.run_failed.title),
    guardHeld: z.boolean().default(true).describe(ALERTS.guard_held.title),
    runHeld: z.boolean().default(true).describe(ALERTS.run_held.title),
    quarantineAbove: above(0, ALERTS.quarantine.title),
    rejectedAbove: above(100, ALERTS.rejected.title),
    parkedAbove: above(100, ALERTS.parked.title),
    blockedAbove: above(false, ALERTS.blocked.title),
    exportEmpty: z.boolean().default(true).describe(ALERTS.export_empty.title),
    nothingSynced: never('26h', ALERTS.nothing_synced.title),
    keyRefused: z.boolean().default(true).describe(ALERTS.key_refused.title),
    apiDown: never('15m', ALERTS.api_down.title),
    failedDeliveries: z
      .union([Share, z.literal(false)], { error: 'a share such as 25% or 0.25, or false' })
      .prefault('25%')
      .meta({ title: 'percentage, fraction or false' })
      .describe(`${ALERTS.deliveries_failing.title} The alert is over at half of it. \`false\`: never.`),
    backupOld: never('2d', ALERTS.backup_old.title),
    configRefused: z.boolean().default(true).describe(ALERTS.config_refused.title),
  })
  .describe('The conditions that are alerts.');

export const AlertsSection = z
  .strictObject({
    channels: z.array(Channel).max(20, 'at most 20 channels').default([]).describe('How people are reached.'),
    when: When.prefault({}),
  })
  .describe(
    'Who gets a notice when something needs a person. One notice is sent when a condition begins, and one when it is over.',
  );
export type AlertsSection = z.infer<typeof AlertsSection>;
