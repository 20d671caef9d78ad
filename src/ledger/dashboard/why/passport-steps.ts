import type { Operation } from '../../../domain/delivery/operation.ts';
import {
  type PassportDesire,
  type PassportRules,
  type PassportStatus,
  wantedByPolicy,
} from '../../../domain/passport.ts';
import type { ItemView, PassportView } from '../../../domain/ports/ledger/ledger-views.ts';
import { unmappedCure } from '../../../domain/unmapped-fields.ts';
import { shellWord } from '../../../lib/text/shell-word.ts';
import type { DeliverySteps } from './delivery-steps.ts';
import { about, type Step, step } from './step.ts';

export interface PassportCase {
  product: ItemView;
  passport: PassportView;
  /** The passport as an item; null if no passport was ever wanted. */
  item: ItemView | null;
  /** The operation of its open delivery. */
  operation: Operation | null;
  /** True if no earlier step stops the passport. */
  isComplete: boolean;
}

const WRITES: Partial<Record<Operation, string>> = {
  'passport.init': 'the initialisation of its passport',
  'passport.publish': 'the publication of its passport',
  'passport.unpublish': 'the withdrawal of its passport',
};

/** The last steps: what the policy or a person wants of the passport, its delivery, and what the platform has. */
export function passportSteps(
  { product, passport, item, operation, isComplete }: PassportCase,
  rules: PassportRules,
  deliveries: DeliverySteps,
): Step[] {
  const { key } = product;
  const { acknowledged, desired } = passport;
  const wanted = wantedOf(desired, rules);
  const steps: Step[] = [];
  if (acknowledged === 'published') steps.push(step('ok', 'its passport is published', about('passport', key)));
  else if (acknowledged === 'initialized')
    steps.push(step('ok', 'its passport is initialised', about('passport', key)));
  const withdrawn = withdrawnStep(passport, product);
  if (withdrawn !== null) steps.push(withdrawn);
  const open = item !== null && item.state !== 'delivered' && operation !== null;
  if (open) {
    const cure = item.reason === null ? null : unmappedCure(item.reason, product.record, rules.mappedFields);
    const known = cure === null ? undefined : { cure, command: 'dpp-sync sync SOURCE' };
    return [...steps, deliveries.of(item, WRITES[operation] ?? 'the write of its passport', known)];
  }
  if (acknowledged === 'published' || withdrawn !== null) return steps;
  if (wanted !== 'published') {
    steps.push(notWantedStep({ acknowledged, wanted, rules, product, isComplete }));
    return steps;
  }
  // The product is complete and published passports are wanted: the evaluation stages the next write.
  if (isComplete) {
    steps.push(
      step('waits', 'its passport is evaluated when no other work is left', {
        ...about('passport', key),
        cure: 'The daemon or the next sync evaluates the passport.',
      }),
    );
  }
  return steps;
}

/** The status that the passport should get. A person's request wins over the policy. */
function wantedOf(desired: PassportDesire | null, rules: PassportRules): PassportStatus | 'none' | null {
  if (desired !== null && desired.because !== 'policy') return desired.status;
  return wantedByPolicy(rules);
}

/**
 * How a person publishes the passport. While the source does not have the product, the passport cannot be published.
 *
 * @param when the condition for the command, such as ` once the product is complete`
 */
function publishCure(
  { key, naturalKey, missing, released }: ItemView,
  when = '',
): { cure: string; command: string | null } {
  if (missing || released)
    return { cure: 'A person can publish it when its source has the product again.', command: null };
  return { cure: `To publish it${when}:`, command: `dpp-sync publish ${shellWord(naturalKey ?? key)}` };
}

/** Who has withdrawn the passport or is withdrawing it; null if it is not withdrawn. */
function withdrawnStep({ desired }: PassportView, product: ItemView): Step | null {
  if (desired?.status !== 'unpublished') return null;
  const rest = about('passport', product.key);
  const { cure, command } = publishCure(product);
  switch (desired.because) {
    case 'missing':
      return step(
        'stop',
        'its passport is withdrawn, since its source no longer has the product (`onMissing: unpublish`)',
        {
          ...rest,
          cure: 'The passport is published again when the product is back in the source.',
        },
      );
    case 'policy': {
      const clause =
        'its passport was withdrawn, and the config leaves publishing to people (`passports.publish: manual`)';
      return step('stop', clause, { ...rest, cure, command });
    }
    case 'person': {
      const isFound = desired.found === true;
      const clause = isFound
        ? 'its passport was not public at the platform before'
        : 'a person has withdrawn its passport';
      return step('stop', clause, { ...rest, cure: `No policy publishes it. ${cure}`, command });
    }
  }
}

function notWantedStep({
  acknowledged,
  wanted,
  rules,
  product,
  isComplete,
}: {
  acknowledged: PassportStatus | null;
  wanted: PassportStatus | 'none' | null;
  rules: PassportRules;
  product: ItemView;
  isComplete: boolean;
}): Step {
  const rest = {
    ...about('passport', product.key),
    ...publishCure(product, isComplete ? '' : ' once the product is complete'),
  };
  if (acknowledged === null && wanted === 'initialized') {
    return step(
      'stop',
      'the config initialises passports and leaves publishing to people (`passports.publish: manual`)',
      rest,
    );
  }
  if (acknowledged !== null || wanted === 'initialized') {
    return step(
      'stop',
      'the config leaves publishing to people (`passports.publish: manual`), and no person has published it',
      rest,
    );
  }
  const setting = rules.init === 'manual' ? '`passports.init: manual`' : '`passports`';
  const policy = rules.isConfigured
    ? `the config leaves passports to people (${setting})`
    : 'the config has no `passports` section, which leaves passports to people';
  return step('stop', `${policy}, and no person has published this one`, rest);
}
