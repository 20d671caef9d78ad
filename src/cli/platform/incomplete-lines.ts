import type { Unpublished } from '../../admin/handlers/publish.ts';
import { shellWord } from '../../lib/text/shell-word.ts';
import { formatCount, plural, printable } from '../text/style.ts';

/** How many causes are shown. */
const CAUSES_MAX = 10;
/** How many products are named for a cause that several have. */
const NAMED_MAX = 5;

/** The command that shows everything that a product lacks. */
export function nextStepLine(product: string): string {
  return `  All reasons, and the next step: dpp-sync why ${printable(shellWord(product))}`;
}

/**
 * The products that are not complete, by what is missing first. A cause that many products have, such as a source that the guard
 * holds, is one line.
 */
export function incompleteLines({
  incomplete,
  firstIncomplete,
}: Pick<Unpublished, 'incomplete' | 'firstIncomplete'>): string[] {
  const causes = [...Map.groupBy(firstIncomplete, ({ blockers }) => blockers[0] ?? '')].slice(0, CAUSES_MAX);
  const lines = causes.map(([cause, products]) => {
    const names = products.map(({ key, naturalKey }) => printable(naturalKey ?? key));
    const named = names.slice(0, NAMED_MAX).join(', ');
    const who =
      names.length === 1
        ? named
        : `${plural(names.length, 'product')} (${named}${names.length > NAMED_MAX ? ', …' : ''})`;
    return `  - ${who}: ${printable(cause)}`;
  });
  const more = incomplete - causes.reduce((sum, [, products]) => sum + products.length, 0);
  const [first] = firstIncomplete;
  return [
    incomplete === 1
      ? '1 product is not complete, so its passport was not published:'
      : `${formatCount(incomplete)} products are not complete, so their passports were not published:`,
    ...lines,
    ...(more > 0 ? [`  … and ${plural(more, 'more product')}; --json lists up to 1,000.`] : []),
    ...(first === undefined ? [] : [nextStepLine(first.naturalKey ?? first.key)]),
  ];
}
