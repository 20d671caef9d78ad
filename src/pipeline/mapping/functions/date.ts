import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';

/** Formats of dates. The time of day and the zone are dropped: only the calendar day in the text counts. */
const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?\s?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const COMPACT = /^(\d{4})(\d{2})(\d{2})$/;
const TICKS = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/;

/** Days that programs write for "no date" or "no end". The field is then left out. */
const NO_DATE: ReadonlySet<string> = new Set([
  // SAP and MySQL write zeros.
  '0000-00-00',
  // `DateTime.MinValue` of .NET, and the zero time of Go.
  '0001-01-01',
  // Dynamics NAV and Business Central: an undefined date is the earliest DATETIME of SQL Server.
  // https://learn.microsoft.com/dynamics365/business-central/dev-itpro/developer/methods-auto/date/date-data-type
  '1753-01-01',
  // The zero of OLE dates (Access, Delphi), and of serial numbers in spreadsheets.
  '1899-12-30',
  // Dynamics AX and Finance: "Null Values for Data Types". SQL Server also makes this day of an empty text.
  // https://learn.microsoft.com/previous-versions/dynamicsax-2012/developer/null-values-for-data-types
  '1900-01-01',
  // Dynamics AX and Finance: the last day of the type `date`, for periods that never end.
  '2154-12-31',
  // SAP, and the last day of most databases.
  '9999-12-31',
]);

const TOKENS: Record<string, string> = {
  YYYY: '(?<year>\\d{4})',
  MM: '(?<month>\\d{2})',
  DD: '(?<day>\\d{2})',
  M: '(?<month>\\d{1,2})',
  D: '(?<day>\\d{1,2})',
  HH: '\\d{2}',
  H: '\\d{1,2}',
  mm: '\\d{2}',
  ss: '\\d{2}',
};
const FORMAT_LENGTH_MAX = 40;

/** The problem of a format as a full sentence; null if the format can be used. */
export function dateFormatProblem(format: unknown): string | null {
  if (typeof format !== 'string' || format.length > FORMAT_LENGTH_MAX) {
    return 'The format of date() is a short text such as "DD.MM.YYYY".';
  }
  const counts = [/YYYY/g, /MM?/g, /DD?/g].map((token) => format.match(token)?.length ?? 0);
  if (counts.every((count) => count === 1) && !/[A-Za-z]/.test(format.replace(TOKEN, ''))) return null;
  return `The date format "${shown(format)}" is not understood: it has YYYY, MM (or M) and DD (or D) once each, and may have HH, mm and ss.`;
}

const TOKEN = /YYYY|MM?|DD?|HH?|mm|ss/g;

/**
 * A calendar day as `YYYY-MM-DD`. Without a format it takes ISO dates and date-times, `YYYYMMDD` and `/Date(ms)/`; other
 * spellings need a format made of `YYYY`, `MM`, `M`, `DD`, `D` (and `HH`, `H`, `mm`, `ss`, which are read and dropped).
 *
 * @returns null for an empty value, and for a day that stands for "no date" or "no end", such as `00000000`
 * @throws MappingError with code `date.format` or `date.invalid`
 */
export function date(value: unknown, format?: unknown): string | null {
  const text = argumentText('date', value);
  if (text === null) return null;
  const parts = format === undefined ? readKnown(text) : readAs(text, format);
  if (parts === null) {
    const expected =
      format === undefined ? 'as YYYY-MM-DD or YYYYMMDD' : `as ${typeof format === 'string' ? format : 'YYYY-MM-DD'}`;
    throw new MappingError('date.format', `"${shown(text)}" is not a date ${expected}.`);
  }
  const [year, month, day] = parts;
  const iso = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  if (NO_DATE.has(iso)) return null;
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) {
    throw new MappingError('date.invalid', `"${shown(text)}" is not a day of the calendar.`);
  }
  return iso;
}

type Parts = readonly [year: number, month: number, day: number];

function readKnown(text: string): Parts | null {
  const written = ISO.exec(text) ?? COMPACT.exec(text);
  if (written) return [Number(written[1]), Number(written[2]), Number(written[3])];
  const ticks = TICKS.exec(text);
  if (!ticks) return null;
  const moment = new Date(Number(ticks[1]));
  return [moment.getUTCFullYear(), moment.getUTCMonth() + 1, moment.getUTCDate()];
}

function readAs(text: string, format: unknown): Parts | null {
  const problem = dateFormatProblem(format);
  if (problem !== null || typeof format !== 'string') {
    throw new MappingError('date.pattern', problem ?? 'The format of date() is text.');
  }
  const source = format.replace(/[^A-Za-z]/g, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`);
  const match = new RegExp(
    `^${source.replace(/\\u\{[^}]*\}|YYYY|MM?|DD?|HH?|mm|ss/g, (token) => TOKENS[token] ?? token)}$`,
    'u',
  ).exec(text);
  const { year, month, day } = match?.groups ?? {};
  if (year === undefined) return null;
  return [Number(year), Number(month), Number(day)];
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
}

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0');
}
