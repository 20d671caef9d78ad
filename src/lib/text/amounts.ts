/** A count with separators between the thousands: `12,345`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A count with its noun: `1 record`, `2,000 records`. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Formats a length of time for people: `15 minutes`, `26 hours`, `2 days`. */
export function formatPeriod(ms: number): string {
  const units: [name: string, ms: number][] = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1000],
  ];
  const [name, unit] = units.find(([, size]) => ms >= size && ms % size === 0) ?? ['second', 1000];
  const count = Math.round(ms / unit);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

/** Reads a time such as `30m`, `8h` or `2d`, in milliseconds; null if the text has another form. */
export function parsePeriod(text: string): number | null {
  const [, count = '', unit = ''] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  return ms > 0 ? ms : null;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time to the minute: `2027-01-15 02:30 UTC`. */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
