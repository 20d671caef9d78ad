const EQUALS = 0x3d;
const QUOTE = 0x22;

/**
 * The text in a value such as `="000124"`. Exports write numbers in this form so that Excel keeps their zeros: it is a
 * formula whose result is the text in quotes. Any other value is returned as it is.
 */
export function withoutTextFormula(value: string): string {
  if (value.charCodeAt(0) !== EQUALS || value.charCodeAt(1) !== QUOTE) return value;
  const end = value.length - 1;
  if (end < 2 || value.charCodeAt(end) !== QUOTE) return value;
  const text = value.slice(2, end);
  // In a formula a quote within the text is doubled. Any other quote ends the text, as in `="a"&"b"`.
  return text.replaceAll('""', '').includes('"') ? value : text.replaceAll('""', '"');
}
