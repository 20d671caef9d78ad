// The kinds of values that the config file has beyond zod's own. Their messages only name the expected value. The code
// that reports problems adds the found value, because only that code knows whether the value may be shown (I7).

import { isIP, isIPv6 } from 'node:net';
import nodeCron from 'node-cron';
import { z } from 'zod';
import type { Bound } from '../domain/approval.ts';
import { normalizeDecimal } from '../lib/decimal.ts';
import { isLoopback } from '../lib/loopback.ts';
import { parsePeriod } from '../lib/text/amounts.ts';

/** Ids that go into job ids, metrics and file names. */
export const Slug = z
  .string()
  .max(64, 'at most 64 characters')
  .regex(
    /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/,
    'a name of lower-case letters, digits and dashes, beginning with a letter',
  );

export const StreamName = z
  .string()
  .max(64, 'a stream name of at most 64 characters')
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]*$/,
    'a stream name of letters, digits, dashes and underscores, beginning with a letter',
  );

/**
 * The API's address. The key is sent with every request, so only https is allowed, except to this machine. A trailing
 * slash is removed.
 */
export const BaseUrl = z.string().transform((text, context) => {
  const expected = baseUrlProblem(text);
  if (expected === null) return text.replace(/\/+$/, '');
  context.addIssue({ code: 'custom', message: expected });
  return z.NEVER;
});

function baseUrlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return 'a URL such as https://dpp.example.com';
  if (url.username !== '' || url.password !== '')
    return 'a URL without user name and password; credentials have keys of their own in the config';
  // An empty query or fragment is invisible in the parsed URL, but would be in the middle of every path.
  if (/[?#]/.test(text)) return 'a URL without query and fragment';
  if (url.protocol === 'https:') return null;
  if (url.protocol === 'http:' && isLoopback(url.hostname)) return null;
  return 'an https URL (http is accepted only for 127.0.0.0/8, ::1 and localhost)';
}

/** A template that names the product, over https except on this machine. */
export const PublicUrl = z.string().refine((text) => {
  const url = /\{(sku|id)\}/.test(text) ? URL.parse(text.replace(/\{(sku|id)\}/g, 'x')) : null;
  return url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)));
}, 'an https URL with {sku} or {id} in it');

/** The name of a host in requests, without a port. */
export const HostName = z
  .string()
  .max(253, 'at most 253 characters')
  .refine(isHostName, 'a host name or address without a port, such as dpp-sync.example.com');

function isHostName(text: string): boolean {
  if (isIPv6(text)) return true;
  return /^[^\s/:?#@[\]*]+$/.test(text) && URL.parse(`http://${text}`)?.pathname === '/';
}

/** An address of a machine, or a range of addresses. */
export const AddressRange = z
  .string()
  .max(64, 'at most 64 characters')
  .refine(isAddressRange, 'an address such as 10.1.2.3, or a range such as 10.1.0.0/16');

/** A range of all addresses is none: then each client could claim any address. */
function isAddressRange(text: string): boolean {
  const [address = '', bits] = text.split('/', 2);
  if (isIP(address) === 0 || address.includes('%')) return false;
  if (!text.includes('/')) return true;
  return (
    text === `${address}/${bits}` && /^[1-9]\d{0,2}$/.test(bits ?? '') && Number(bits) <= (isIPv6(address) ? 128 : 32)
  );
}

/** Printable ASCII, because a header cannot have other characters. */
export const Secret = z
  .string()
  .min(1, 'a value that is not empty')
  .max(4096, 'at most 4096 characters')
  .regex(/^[\x21-\x7e]*$/, 'printable ASCII characters without spaces')
  .meta({ secret: true });

/** The queue: `embedded`, or the address of a Redis. */
export type QueueSetting = { kind: 'embedded' } | { kind: 'redis'; url: string };

export const QueueSetting = z.string().transform((text, context): QueueSetting => {
  if (text === 'embedded') return { kind: 'embedded' };
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'redis:' || url.protocol === 'rediss:') && url.hostname !== '') {
    return { kind: 'redis', url: text };
  }
  const message = /^postgres(ql)?:/.test(text)
    ? 'embedded, redis://… or rediss://…; PostgreSQL is planned for a later version'
    : 'embedded, redis://host:port or rediss://host:port';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

export const LedgerPath = z
  .string()
  .min(1, 'the path of a file')
  .superRefine((text, context) => {
    if (/^postgres(ql)?:/.test(text)) {
      context.addIssue({ code: 'custom', message: 'the path of a file; PostgreSQL is planned for a later version' });
    } else if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text)) {
      context.addIssue({ code: 'custom', message: 'the path of a file, not a URL' });
    }
  });

export const Schedule = z.string().superRefine((text, context) => {
  const { valid, errors } = nodeCron.validateDetailed(text);
  if (valid) return;
  const field = errors.find((error) => error.field !== 'expression')?.field;
  // `dayOfMonth` becomes `day of month`.
  const name = field?.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const reason = name === undefined ? ', which has 5 fields' : `; the ${name} of this one is not valid`;
  context.addIssue({ code: 'custom', message: `a cron expression such as "30 2 * * *"${reason}` });
});

export const TimeZone = z
  .string()
  .refine(isTimeZone, { message: 'an IANA time zone such as Europe/Berlin', params: { timeZone: true } });

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

/** A time of the day such as `22:30`. Becomes the minutes after midnight. */
export const TimeOfDay = z.string().transform((text, context): number => {
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const isTime = hours !== '' && Number(minutes) < 60 && (Number(hours) < 24 || (hours === '24' && minutes === '00'));
  if (isTime) return (Number(hours) * 60 + Number(minutes)) % (24 * 60);
  context.addIssue({ code: 'custom', message: 'a time of the day such as 22:30' });
  return z.NEVER;
});

const SIZE = /^(\d{1,6})\s*(MB|GB)$/;

/** A size such as `500 MB` or `2 GB`, in bytes. */
export const Size = z.string().transform((text, context): number => {
  const [, count = '', unit = ''] = SIZE.exec(text) ?? [];
  const bytes = Number(count) * (unit === 'GB' ? 1e9 : 1e6);
  if (bytes > 0) return bytes;
  context.addIssue({ code: 'custom', message: 'a size such as 500 MB or 2 GB' });
  return z.NEVER;
});

const SHARE = 'a percentage such as 5%, or a fraction from 0 to 1';

/** A share of a whole: `5%` or `0.05`. Becomes a fraction from 0 to 1. */
export const Share = z
  .union([z.number(), z.string()], { error: SHARE })
  .meta({ title: 'percentage or fraction' })
  .transform((given, context) => {
    const match = typeof given === 'string' ? /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(given.trim()) : null;
    const value = match ? Number(match[1]) / (match[2] === '%' ? 100 : 1) : Number(given);
    if (value >= 0 && value <= 1) return value;
    context.addIssue({ code: 'custom', message: SHARE });
    return z.NEVER;
  });

const BOUND = 'a whole number, or a percentage such as 10%';

/** A number of items, or a share of them: `500` or `10%`. */
export const BoundField = z
  .union([z.number(), z.string()], { error: BOUND })
  .meta({ title: 'number or percentage' })
  .transform((given, context): Bound => {
    if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return { count: given };
    const match = typeof given === 'string' ? /^(\d+(?:\.\d+)?)\s*%$/.exec(given.trim()) : null;
    const share = match === null ? Number.NaN : Number(match[1]) / 100;
    if (share >= 0 && share <= 1) return { share };
    context.addIssue({ code: 'custom', message: BOUND });
    return z.NEVER;
  });

/** An expression. A plain number or boolean is a constant. */
export const Expression = z
  .union([z.string().trim().min(1), z.number(), z.boolean()], { error: 'an expression, as text' })
  .meta({ title: 'expression' })
  .transform(String);

/** A decimal number. It stays text, so that no digit is lost. */
export const Decimal = z
  .union([z.number(), z.string()], { error: 'a number' })
  .meta({ title: 'number' })
  .transform((given, context): string => {
    const normal = normalizeDecimal(String(given));
    if (normal !== null) return normal;
    context.addIssue({ code: 'custom', message: 'a number' });
    return z.NEVER;
  });

/** The form of a code of UNECE Rec 20 or 21; the compiler of mappings knows which codes there are. */
export const UnitCode = z.string().regex(/^[A-Za-z0-9]{2,3}$/, 'a code of UNECE Rec 20 or 21, such as C62');

const PERIOD = /^(\d{1,4})([hd])$/;

/** A time such as `12h` or `7d`, in milliseconds. */
export const Period = z.string().transform((text, context): number => {
  const [, count = '', unit = ''] = PERIOD.exec(text) ?? [];
  const hours = Number(count) * (unit === 'd' ? 24 : 1);
  if (hours > 0) return hours * 3_600_000;
  context.addIssue({ code: 'custom', message: 'a number of hours or days, such as 12h or 7d' });
  return z.NEVER;
});

/** A time such as `30s`, `15m`, `12h` or `7d`, in milliseconds. */
export const Duration = z.string().transform((text, context): number => {
  const ms = parsePeriod(text);
  if (ms !== null) return ms;
  context.addIssue({ code: 'custom', message: 'a time such as 30s, 15m, 12h or 7d' });
  return z.NEVER;
});
