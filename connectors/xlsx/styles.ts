import { builtInNumberFormat, type NumberFormat, PLAIN_NUMBER_FORMAT, parseNumberFormat } from '../../src/sdk/index.ts';
import type { PartHandlers } from './xml-part.ts';

/** The most cell styles. Excel itself allows 65,490. */
const STYLES_MAX = 100_000;

/** The number format of each cell style, by the number that cells refer to. */
export interface Styles {
  formatOf(style: number): NumberFormat;
}

export const NO_STYLES: Styles = { formatOf: () => PLAIN_NUMBER_FORMAT };

/** Collects the number formats of `styles.xml`. */
export function createStyleReader(): { part: PartHandlers; styles(): Styles } {
  const own = new Map<number, NumberFormat>();
  const ids: number[] = [];
  let inCells = false;
  const part: PartHandlers = {
    open(name, attributes) {
      if (name === 'numFmt') own.set(Number(attributes['numFmtId']), parseNumberFormat(attributes['formatCode'] ?? ''));
      else if (name === 'cellXfs') inCells = true;
      else if (name === 'xf' && inCells) ids.push(Number(attributes['numFmtId'] ?? 0));
      if (ids.length > STYLES_MAX || own.size > STYLES_MAX) throw new Error(`it has more than ${STYLES_MAX} styles`);
    },
    text() {},
    close(name) {
      if (name === 'cellXfs') inCells = false;
    },
  };
  return {
    part,
    styles() {
      const formats = ids.map((id) => own.get(id) ?? builtInNumberFormat(id));
      return { formatOf: (style) => formats[style] ?? PLAIN_NUMBER_FORMAT };
    },
  };
}
