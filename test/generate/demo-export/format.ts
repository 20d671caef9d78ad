/** `1234.5` with two places becomes `1.234,50`. A negative number ends with its minus, as SAP writes it. */
export function germanDecimal(value: number, places: number): string {
  const [whole = '0', fraction] = Math.abs(value).toFixed(places).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '.');
  return `${fraction === undefined ? grouped : `${grouped},${fraction}`}${value < 0 ? '-' : ''}`;
}

/** Like `germanDecimal`, with only as many places as the number needs. */
export function germanNumber(value: number): string {
  const places = String(Math.round(value * 1000) / 1000).split('.')[1]?.length ?? 0;
  return germanDecimal(value, places);
}

/** `YYYYMMDD`, or eight zeros if there is no date. */
export function sapDate(day: { year: number; month: number; day: number } | null): string {
  if (day === null) return '00000000';
  return `${day.year}${String(day.month).padStart(2, '0')}${String(day.day).padStart(2, '0')}`;
}

/** A material number as SAP stores it: 18 digits. */
export function materialNumber(value: number): string {
  return String(value).padStart(18, '0');
}

/**
 * A GTIN-13 with the prefix 952, which GS1 reserves for examples, so that no real article can have it.
 * @param item at most six digits.
 */
export function exampleGtin(item: number): string {
  const digits = `952417${String(item).padStart(6, '0')}`;
  const sum = Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}
