import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatSince, type SinceForm } from '../../../../src/sdk/rest/since.ts';

const HOUR_MS = 3_600_000;
const UNIT_MS = { ms: 1, s: 1_000, min: 60_000, day: 24 * HOUR_MS };
/** Zones with all kinds of offsets and changes: by half an hour, by two hours, at midnight, and none. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Havana',
  'America/St_Johns',
  'Asia/Kolkata',
  'Asia/Beirut',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'Africa/Casablanca',
  'Pacific/Apia',
];
const FORMATS = [
  'YYYY-MM-DDThh:mm:ss.SSSZ',
  'YYYY-MM-DDThh:mm:ssZ',
  'YYYY-MM-DD hh:mm:ss',
  'YYYY-MM-DD hh:mm',
  'DD.MM.YYYY hh',
  'YYYYMMDD',
  'epoch',
  'epoch-ms',
];

/** To make a clock takes far longer than to read it. */
const CLOCKS = new Map(
  ZONES.map((zone) => [
    zone,
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' }),
  ]),
);

/** The wall clock of a zone, as if it were in UTC. */
function wallAt(at: number, zone: string): number {
  const text = CLOCKS.get(zone)?.format(at) ?? '';
  return Date.parse(`${text.replace(' ', 'T')}Z`) + (((at % 1_000) + 1_000) % 1_000);
}

/** All times that a server in the zone may mean by a text. */
function readBack(text: string, { format, zone }: Pick<SinceForm, 'format' | 'zone'>): number[] {
  if (format === 'epoch') return [Number(text) * 1_000];
  if (format === 'epoch-ms') return [Number(text)];
  const names = [...format.matchAll(/YYYY|MM|DD|hh|mm|SSS|ss|Z/g)].map(([name]) => name);
  const digits = format
    .replaceAll(/[.]/g, '\\.')
    .replaceAll(/YYYY|MM|DD|hh|mm|SSS|ss|Z/g, (name) =>
      name === 'Z' ? '(Z|[+-]\\d\\d:\\d\\d)' : `(\\d{${name.length}})`,
    );
  const values = new Map((new RegExp(`^${digits}$`).exec(text) ?? []).slice(1).map((value, at) => [names[at], value]));
  const part = (name: string, other: string) => values.get(name) ?? other;
  const wall = `${part('YYYY', '')}-${part('MM', '')}-${part('DD', '')}T${part('hh', '00')}:${part('mm', '00')}:${part('ss', '00')}.${part('SSS', '000')}`;
  const offset = values.get('Z');
  if (offset !== undefined) return [Date.parse(`${wall}${offset}`)];
  const asUtc = Date.parse(`${wall}Z`);
  const near = [-26, -13, -3, 0, 3, 13, 26].map((hours) => asUtc + hours * HOUR_MS);
  const offsets = new Set(near.map((at) => wallAt(at, zone) - at));
  return [...offsets].map((one) => asUtc - one).filter((at) => wallAt(at, zone) === asUtc);
}

/** The times around which the clocks of a zone are changed. */
const CHANGES = ZONES.flatMap((zone) => {
  const found: number[] = [];
  for (let at = Date.UTC(2025, 0, 1); at < Date.UTC(2027, 0, 1); at += HOUR_MS) {
    if (wallAt(at + HOUR_MS, zone) - wallAt(at, zone) !== HOUR_MS) found.push(at);
  }
  return found.map((at) => ({ zone, at }));
});

const Forms = fc.record({
  format: fc.constantFrom(...FORMATS),
  granularity: fc.constantFrom('ms' as const, 's' as const, 'min' as const, 'day' as const),
  overlap: fc.constantFrom(0, 1, 600_000, 86_400_000),
});
const anyTime = fc.record({
  zone: fc.constantFrom(...ZONES),
  at: fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2040, 0, 1) }),
});
const nearChange = fc
  .record({ change: fc.constantFrom(...CHANGES), by: fc.integer({ min: -4 * HOUR_MS, max: 30 * HOUR_MS }) })
  .map(({ change, by }) => ({ zone: change.zone, at: change.at + by }));

describe('the time from which changes are asked for', () => {
  it('is never later than it should be, however a server reads an hour that passes twice', () => {
    fc.assert(
      fc.property(fc.oneof(anyTime, nearChange), Forms, ({ zone, at }, form) => {
        const text = formatSince(at, { zone, ...form });
        const times = readBack(text, { zone, format: form.format });
        const limit = at - form.overlap;
        for (const time of times) {
          expect(time, text).toBeLessThanOrEqual(limit);
          // Nor much earlier: a unit, an hour that passes twice, and the parts that the format leaves out.
          expect(time, text).toBeGreaterThan(limit - UNIT_MS[form.granularity] - 30 * HOUR_MS);
        }
      }),
      { numRuns: 1_500 },
    );
  });

  it('begins a day at midnight of the server, also as a number', () => {
    const form = { granularity: 'day' as const, zone: 'Europe/Berlin', overlap: 0 };
    const at = Date.parse('2026-07-01T10:20:30Z');
    expect(formatSince(at, { ...form, format: 'epoch' })).toBe(String(Date.parse('2026-06-30T22:00:00Z') / 1_000));
    expect(formatSince(at, { ...form, format: 'YYYY-MM-DD hh:mm' })).toBe('2026-07-01 00:00');
    // On this day the clock was set back, and its begin is 14 hours before noon.
    const autumn = Date.parse('2026-10-25T12:00:00Z');
    expect(formatSince(autumn, { ...form, format: 'epoch' })).toBe(String(Date.parse('2026-10-24T22:00:00Z') / 1_000));
  });

  it.each([
    ['YYYY-MM-DDThh:mm:ssZ', '2026-10-25T02:30:00+01:00'],
    ['YYYY-MM-DD hh:mm:ss', '2026-10-25 01:30:00'],
    ['epoch', '1792891800'],
    ['epoch-ms', '1792891800000'],
  ])('in the form %s is %s, half an hour into the hour that passes twice', (format, text) => {
    const at = Date.parse('2026-10-25T01:30:00Z');
    expect(formatSince(at, { format, zone: 'Europe/Berlin', granularity: 's', overlap: 0 })).toBe(text);
  });
});
