// The sections of the config about the daemon itself: its dashboard, its backups, its history, and what it shows to other systems.

import { z } from 'zod';
import { isPasswordHash } from '../lib/password-hash.ts';
import { AddressRange, BaseUrl, HostName, Schedule, Secret, Size, TimeZone } from './fields.ts';

/** The roles of the people who use the dashboard. Each role may do all that the role before it may. */
export const WEB_ROLES = ['viewer', 'editor', 'operator'] as const;
/** viewer: looks. editor: notes, owners, lookup values, uploads, replays. operator: also runs, guards, passports, settling, queues, settings. */
export type WebRole = (typeof WEB_ROLES)[number];

/** The name in the audit log of a person who uses the token. No user has it. */
export const TOKEN_NAME = 'token';
const USER_NAME_LENGTH_MAX = 64;
/** The names that users may have. */
const USER_NAME: RegExp = /^[A-Za-z0-9][A-Za-z0-9._@-]*$/;

export function isUserName(text: string): boolean {
  return text.length <= USER_NAME_LENGTH_MAX && USER_NAME.test(text) && text !== TOKEN_NAME;
}

const WebUser = z.strictObject({
  name: z
    .string()
    .max(USER_NAME_LENGTH_MAX, `at most ${USER_NAME_LENGTH_MAX} characters`)
    .regex(USER_NAME, 'a name of letters, digits, dots, dashes, underscores and @')
    .refine((name) => name !== TOKEN_NAME, 'another name: `token` stands for the token')
    .describe('The name with which the person logs in. Pages and the audit log show this name.'),
  password: Secret.refine(isPasswordHash, 'a hash as `dpp-sync password` prints it')
    .optional()
    .describe(
      'The hash of the password, as `dpp-sync password` prints it. Required without `userHeader`. A user can choose another password on the page *Account* of the dashboard; that one counts until this hash changes.',
    ),
  role: z
    .enum(WEB_ROLES)
    .describe(
      'A viewer only reads. An editor also writes notes and lookup values, uploads files and replays records. An operator does everything.',
    ),
});

export const WebSection = z
  .strictObject({
    host: z
      .string()
      .regex(/^[^\s/]+$/, 'a host name or address')
      .default('127.0.0.1')
      .describe('The address to listen on.'),
    port: z.int().min(0).max(65_535).default(4280).describe('The port to listen on; 0 takes any free one.'),
    allowedHosts: z
      .array(HostName)
      .default([])
      .describe(
        'The names and addresses by which people open the dashboard, without a port. `host` and the loopback names are always allowed. Required if `host` is not a loopback address. A request for any other host name is refused, so that a foreign web page cannot send requests to the dashboard.',
      ),
    trustedProxies: z
      .array(AddressRange)
      .max(100, 'at most 100 addresses')
      .default([])
      .describe(
        'The addresses of the proxies in front of the dashboard, or ranges such as `10.1.0.0/16`. The address of a client is then read from `X-Forwarded-For`, from the right, as far as these proxies have written it. Wrong passwords are counted by that address. Without this list the header is ignored, and all people behind a proxy share one address.',
      ),
    userHeader: z
      .string()
      .max(64, 'at most 64 characters')
      .regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'the name of a header of letters, digits and dashes')
      .optional()
      .describe(
        'The header in which a proxy that has logged a person in sends the name of the person, such as `X-Forwarded-User` or `Remote-User`. The name has to be one of `users`, which says the role. The header is believed only from `trustedProxies`, which is required with it, because everybody who can send requests from these addresses can be each of the users.',
      ),
    token: Secret.min(16, 'at least 16 characters')
      .optional()
      .describe(
        'The token that scripts send, and with which people can log in: at least 16 characters. It has the rights of an operator. Required if there are no `users`.',
      ),
    users: z
      .array(WebUser)
      .max(500, 'at most 500 users')
      .default([])
      .describe(
        'The people who log in with a name and a password, or through a proxy. The role says what each may do.',
      ),
  })
  .describe('The dashboard and admin API. Without this section the daemon serves neither.');

export const BackupsSection = z
  .strictObject({
    schedule: Schedule.prefault('0 3 * * *').describe('When a backup is made, as a cron expression.'),
    timezone: TimeZone.default('UTC').describe('The IANA time zone of the schedule.'),
    folder: z
      .string()
      .min(1, 'the path of a folder')
      .describe('The folder of the backups, best on another disk. dpp-sync creates the folder.'),
    keep: z
      .int()
      .min(1)
      .max(10_000)
      .default(14)
      .describe('How many backups are kept. The oldest is removed once a newer one is verified.'),
  })
  .describe('Backups that the daemon makes of its ledger. Without this section there are none.');

export const HistorySection = z
  .strictObject({
    keepDays: z
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe(
        'How many days runs and events of items are kept. The last runs of each source always stay. Without this key only their number is limited.',
      ),
    maxBytes: Size.optional().describe(
      'The size of the ledger above which the oldest events of items are removed, such as `2 GB`. Items and records always stay, so a ledger can be larger.',
    ),
  })
  .describe('How much history the ledger keeps.');

const Traces = z
  .strictObject({
    endpoint: BaseUrl.describe(
      'The address to which traces are posted as OTLP over HTTP with JSON, such as https://collector.example.com:4318/v1/traces. It begins with `https://`; `http://` is accepted only for this machine.',
    ),
    headers: z
      .record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'the name of a header'), Secret)
      .default({})
      .describe('Headers of each request, such as one with a token. Their values are secrets.'),
    sampleRatio: z
      .number()
      .min(0, 'a number from 0 to 1')
      .max(1, 'a number from 0 to 1')
      .default(0.01)
      .describe('The share of the items that are traced, each with all its revisions.'),
  })
  .describe(
    'Traces of OpenTelemetry, one for each delivery. Without this section no package of OpenTelemetry is loaded.',
  );

export const ObserveSection = z
  .strictObject({ traces: Traces.optional() })
  .describe('What dpp-sync shows to other systems in addition to the metrics.');
