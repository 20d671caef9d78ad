import type { ContactAttention } from '../../daemon/views/attention.ts';
import type { Suspended } from '../../domain/ports/first-contact.ts';
import { describeUnproven } from '../../domain/unproven-words.ts';
import { formatCount, type Paint, plural, printable } from './style.ts';
import { countKind } from './words.ts';

export const NO_CONTACT_ATTENTION: ContactAttention = {
  adopted: [],
  parts: { products: 0, bomItems: 0 },
  unproven: [],
};

const FIELDS_SHOWN = 8;

/** Lines for people about first contact; empty if there is nothing to decide. */
export function contactLines(
  suspended: readonly Suspended[],
  { adopted, parts, unproven }: ContactAttention,
  paint: Paint,
): string[] {
  const lines: string[] = [];
  for (const { kind, creates, listed, reason } of suspended) {
    lines.push(paint('yellow', `${countKind(creates, kind)} ${creates === 1 ? 'is' : 'are'} not created yet.`));
    const reading = `  The platform's list of ${kind}s is read first, so that no ${kind} is created twice: ${plural(listed, 'entry', 'entries')} so far.`;
    lines.push(reason === null ? reading : `  ${printable(reason.message)}`);
  }
  for (const { source, kind, items, fields } of adopted) {
    const names = Object.entries(fields).map(([name, count]) => `${printable(name)} (${formatCount(count)})`);
    const more = names.length > FIELDS_SHOWN ? `, and ${names.length - FIELDS_SHOWN} more` : '';
    const verb = items === 1 ? 'was' : 'were';
    lines.push(
      paint('yellow', `${countKind(items, kind)} of ${source} ${verb} at the platform before and would be changed:`),
      `  ${names.slice(0, FIELDS_SHOWN).join(', ')}${more}`,
    );
  }
  for (const source of new Set(adopted.map((one) => one.source))) {
    lines.push(`  dpp-sync writes none of these changes before you accept them: dpp-sync sync --accept ${source}`);
  }
  if (parts.bomItems > 0) {
    lines.push(
      paint(
        'yellow',
        `${countKind(parts.bomItems, 'bom_item')} of ${plural(parts.products, 'product', 'products')} may be at the platform already, and the API cannot be asked.`,
      ),
      '  Look at the platform, then run dpp-sync settle --bom present --all, or --bom absent. To answer for single products, give their SKUs instead of --all.',
    );
  }
  lines.push(...unproven.map((writes) => describeUnproven(writes, formatCount(writes.count))));
  return lines;
}
