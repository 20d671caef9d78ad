/** A value of a decimal column that looks like a number but is not one in the declared notation. */
export interface NotANumber {
  found: string;
}

const LOOKS_NUMERIC = /^(?=.*\d)[\d\s.,'’+-]+$/;

/**
 * Rewrites numbers of one notation into plain decimals, as text: with the mark `,` `1.234,56` becomes `1234.56` and
 * SAP's `302,35-` becomes `-302.35`. Zeros are kept, because the mapping decides whether a value is a number.
 *
 * Thousands may be separated by the other mark, a space or an apostrophe, in groups of three. Text without digits or
 * with letters (`n/a`, `12 kg`) is not a number and is returned unchanged. A text that looks like a number and does not
 * fit the notation (`1.23` with a comma as the mark) is never guessed.
 */
export function createDecimalReader(mark: ',' | '.'): (text: string) => string | NotANumber {
  const decimal = mark === ',' ? ',' : '\\.';
  const other = mark === ',' ? '\\.' : ',';
  const number = new RegExp(
    `^([+-]?)(\\d+|\\d{1,3}(?:(${other}|[ '’\\u00a0\\u202f])\\d{3})(?:\\3\\d{3})*)?(?:${decimal}(\\d*))?([+-]?)$`,
  );
  return (text) => {
    const trimmed = text.trim();
    if (!LOOKS_NUMERIC.test(trimmed)) return text;
    const match = number.exec(trimmed);
    const [, leading = '', whole = '', , fraction, trailing = ''] = match ?? [];
    if (match === null || (leading !== '' && trailing !== '')) return { found: text };
    const digits = whole.replace(/\D/g, '') || '0';
    const sign = leading === '-' || trailing === '-' ? '-' : '';
    return fraction === undefined || fraction === '' ? sign + digits : `${sign}${digits}.${fraction}`;
  };
}
