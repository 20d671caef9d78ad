import { z } from 'zod';
import { ALERTS } from '../domain/words/alerts.ts';
import { Duration, HostName, Secret, Slug } from './fields.ts';

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

const When = z
  .strictObject({
    runFailed: z.boolean().default(true).describe(ALERTS.run_failed.title),
    guardHeld: z.boolean().default(true).describe(ALERTS.guard_held.title),
    quarantineAbove: z
      .union([z.int().min(0), z.literal(false)], { error: 'a whole number, or false' })
      .default(0)
      .meta({ title: 'whole number or false' })
      .describe(`${ALERTS.quarantine.title} \`false\`: never.`),
    nothingSynced: never('26h', ALERTS.nothing_synced.title),
    keyRefused: z.boolean().default(true).describe(ALERTS.key_refused.title),
    apiDown: never('15m', ALERTS.api_down.title),
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
