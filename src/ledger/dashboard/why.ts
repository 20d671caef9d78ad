// Explains why a product's passport is published or not. The steps lead from the source's row to the passport, in the
// order of cause and effect.

import { adviceOnGone } from '../../domain/advice.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import {
  type PassportDesire,
  type PassportRules,
  type PassportStatus,
  unmappedCure,
  wantedByPolicy,
} from '../../domain/passport.ts';
import type { Why, WhyStep } from '../../domain/ports/ledger/dashboard-views.ts';
import type { PassportView } from '../../domain/ports/ledger/ledger-views.ts';
import { shellWord } from '../../lib/text/safe-text.ts';
import { isOpen } from '../items/item-row.ts';
import { column } from '../store/tx.ts';
import { itemOf, rowsNaming, type StoredItem } from '../views/item-views.ts';
import { passportOf } from '../views/passport-views.ts';
import { inOneMoment, type ViewReads } from '../views/view-reads.ts';
import type { DashboardReads } from './catalog.ts';
import {
  type AnswerReads,
  about,
  answerReads,
  type Delivered,
  deliveryStep,
  type Step,
  step,
} from './delivery-steps.ts';
import {
  heldByAnySteps,
  heldSteps,
  NOT_READ,
  otherSourceSteps,
  partSteps,
  refSteps,
  rowOfProduct,
  rowSteps,
  sourceStep,
} from './product-steps.ts';

const MISSING = {
  row_gone: 'its source no longer has the product: its row is gone',
  row_changed: 'its source no longer has the product: no row makes it any more',
} as const;
const GONE: readonly string[] = Object.values(MISSING);

const SQL = {
  operation: column<[string], Operation>(
    `SELECT i.operation FROM items i WHERE i.kind = 'passport' AND i.key = ? AND ${isOpen('i')}`,
  ),
  dirty: column<[string], number>("SELECT 1 FROM items WHERE kind = 'passport' AND key = ? AND dirty = 1"),
};

/** Explains the passport of the product with this key or natural key; null if nothing has this name. */
export function why(reads: DashboardReads, name: string): Why | null {
  return inOneMoment(reads, () => {
    const product = itemOf(reads, 'product', name);
    const passport = product === null ? null : passportOf(reads, product.key);
    if (product === null || passport === null) return whyOfRow(reads, name);
    return whyOf(answerReads(reads), product, passport);
  });
}

/** A passport with its product, as far as the last steps depend on them. */
interface PassportCase {
  product: Pick<StoredItem, 'key' | 'naturalKey' | 'missing' | 'released' | 'record'>;
  passport: Pick<PassportView, 'acknowledged' | 'desired'>;
  /** The open delivery of the passport; null if it has none. */
  delivery: (Delivered & { operation: Operation }) | null;
}

/**
 * Why the passport of a complete product does not have its desired status, in full sentences; null if no reason is known.
 */
export function passportWait(reads: AnswerReads, of: PassportCase): string | null {
  const last = lastSteps(reads, of, true).at(-1);
  return last === undefined || last.standing === 'ok' ? null : last.text;
}

/** The steps of a product up to its passport, and the first of its own steps that needs a person. */
function productSteps(
  reads: AnswerReads,
  product: StoredItem,
  passport: PassportView,
): { steps: Step[]; cause: Step | null } {
  const { key, source, missing, missingBecause, released } = product;
  const row = rowOfProduct(reads, key);
  const own: Step[] = [];
  if (missing) {
    const advice = adviceOnGone(product, { isPublic: passport.acknowledged === 'published' });
    own.push(step('stop', MISSING[missingBecause ?? 'row_gone'], { ...about('product', key), advice }));
  } else if (released) {
    const clause =
      'no row of its source makes the product any more, and the guard has not decided whether the product is missing';
    own.push(step('stop', clause, { ...about('product', key), advice: adviceOnGone(product, {}) }));
  } else if (row !== undefined) own.push(...rowSteps(reads, row, 'its row'));
  const held = heldSteps(reads, key, row?.id ?? null);
  const seen = new Set<string>();
  const items = [...refSteps(reads, product, 'the product', seen), ...partSteps(reads, key, seen)];
  const common = source === null ? [] : [sourceStep(reads, source, true)];
  const steps = [...common, ...own, ...otherSourceSteps(reads, source), ...held, ...heldByAnySteps(reads), ...items];
  return { steps, cause: [...own, ...held, ...items].find(({ standing }) => standing === 'stop') ?? null };
}

function whyOf(reads: AnswerReads, product: StoredItem, passport: PassportView): Why {
  const { steps, cause } = productSteps(reads, product, passport);
  const isHeld = steps.some(({ standing }) => standing === 'stop' || standing === 'waits');
  // The check of completeness decides. Its blockers are added if the steps above show none.
  if (!isHeld) for (const blocker of passport.blockers) steps.push(step('stop', blocker));
  const isComplete = !isHeld && passport.blockers.length === 0;
  if (isComplete) steps.push(completeStep(product, passport));
  steps.push(...lastSteps(reads, { product, passport, delivery: openDelivery(reads, product.key) }, isComplete));
  const published = passport.acknowledged === 'published';
  const { key, naturalKey, name } = product;
  const last = steps.at(-1);
  // The platform has refused a write of the passport itself. Then this refusal is the cause to show: the passport would not
  // be published even if all other causes were removed. If the product has changed since the refusal, the passport is sent
  // again as soon as no other cause is left.
  const isRefused =
    passport.state === 'blocked' && last?.standing === 'stop' && SQL.dirty(reads).get(key) === undefined;
  const direct = isRefused ? last : cause;
  // The guard holds no row back, so a published passport shows all that was read.
  const shown = published ? steps.map((one) => (one.isGuard ? { ...one, standing: 'unknown' as const } : one)) : steps;
  return answered({ key, naturalKey, name, published, steps: shown }, direct);
}

/** Explains a product that has no item: its row is in quarantine, or no mapping makes an item from it. */
function whyOfRow(reads: ViewReads, name: string): Why | null {
  const [row] = rowsNaming(reads, name);
  if (row === undefined) return null;
  const own = rowSteps(reads, row, `the row of ${name}`);
  const steps = [sourceStep(reads, row.source, true), ...own];
  if (!steps.some(({ standing }) => standing === 'stop' || standing === 'waits')) {
    steps.push(step('stop', `no row makes a product ${name}`, { record: row.id }));
  }
  const cause = own.find(({ standing }) => standing === 'stop') ?? null;
  return answered({ key: name, naturalKey: null, name: null, published: false, steps }, cause);
}

/**
 * @param direct the step that is known to be the cause; without it, the cause is the first step that stops the passport
 */
function answered(
  { steps, ...why }: Omit<Why, 'answer' | 'steps'> & { steps: Step[] },
  direct: Step | null = null,
): Why {
  const of = `The passport of ${why.naturalKey ?? why.key}`;
  // A cause that needs a person comes before work that continues without a person.
  const cause =
    direct ?? steps.find(({ standing }) => standing === 'stop') ?? steps.find(({ standing }) => standing === 'waits');
  const is = why.published ? 'is published' : 'is not published';
  const answer = `${of} ${is}${cause === undefined ? '' : reasonText(cause, why)}.`;
  return { ...why, answer, steps: steps.map(shownStep) };
}

/** A platform that refuses the passport may say that something is missing, so this step says what dpp-sync knows. */
function completeStep({ key }: StoredItem, { state }: PassportView): Step {
  const isRefused = state === 'blocked';
  const clause = isRefused ? 'the platform has all that the sources have of the product' : 'the product is complete';
  return step('ok', clause, about('product', key));
}

function shownStep({ standing, text, command, item, record, advice, cause }: Step): WhyStep {
  return { standing, text, command, item, record, advice, cause };
}

/** The part of the answer with the cause. While a passport is published, a cause may stop its next write. */
function reasonText({ because }: Step, { published }: Pick<Why, 'published'>): string {
  if (!published) return `, because ${because}`;
  if (GONE.includes(because) || because.startsWith(NOT_READ)) return `, although ${because}`;
  return `, but it does not show everything that its source has, because ${because}`;
}

const WRITES: Partial<Record<Operation, string>> = {
  'passport.init': 'the initialisation of its passport',
  'passport.publish': 'the publication of its passport',
  'passport.unpublish': 'the withdrawal of its passport',
};

/**
 * The last steps: what the policy or a person wants of the passport, its delivery, and what the platform has.
 *
 * @param isComplete true if no earlier step stops the passport
 */
function lastSteps(reads: AnswerReads, { product, passport, delivery }: PassportCase, isComplete: boolean): Step[] {
  const { key } = product;
  const { acknowledged, desired } = passport;
  const rules = reads.passportRules;
  const wanted = wantedOf(desired, rules);
  const steps: Step[] = [];
  if (acknowledged === 'published') steps.push(step('ok', 'its passport is published', about('passport', key)));
  else if (acknowledged === 'initialized') steps.push(step('ok', 'its passport is prepared', about('passport', key)));
  const withdrawn = withdrawnStep(passport, product);
  if (withdrawn !== null) steps.push(withdrawn);
  if (delivery !== null) {
    const { reason, operation } = delivery;
    const unmapped = reason === null ? null : unmappedCure(reason, product.record, rules.mappedFields);
    return [...steps, deliveryStep(reads, delivery, WRITES[operation] ?? 'the write of its passport', unmapped)];
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

function openDelivery(reads: ViewReads, key: string): PassportCase['delivery'] {
  const operation = SQL.operation(reads).get(key);
  const item = operation === undefined ? null : itemOf(reads, 'passport', key);
  return operation === undefined || item === null ? null : { ...item, operation };
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
  { key, naturalKey, missing, released }: PassportCase['product'],
  when = '',
): { cure: string; command: string | null } {
  if (missing || released)
    return { cure: 'A person can publish it when its source has the product again.', command: null };
  return { cure: `To publish it${when}:`, command: `dpp-sync publish ${shellWord(naturalKey ?? key)}` };
}

/** Who has withdrawn the passport or is withdrawing it; null if it is not withdrawn. */
function withdrawnStep({ desired }: PassportCase['passport'], product: PassportCase['product']): Step | null {
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
  product: PassportCase['product'];
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
