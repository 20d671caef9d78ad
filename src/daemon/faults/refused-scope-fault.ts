import { suspendedBy } from '../../delivery/admission/authorization.ts';
import {
  type Access,
  accessesOf,
  accessWord,
  isListAccess,
  type Scope,
  scopeOf,
} from '../../domain/delivery/operation.ts';
import { fault } from '../../domain/faults.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { UNUSED_IMPORTS } from '../../domain/words/holds.ts';
import { type Fault, sentence } from '../../lib/errors.ts';
import type { Runtime } from '../runtime.ts';

/** The fault for deliveries that were not sent because the key lacks their scope; null if there are none. */
export async function refusedScopeFault(runtime: Runtime): Promise<Fault | null> {
  const { api, config } = runtime;
  const { target } = config;
  const lacking: Scope[] = [];
  const messages: string[] = [];
  for (const [scope, { message }] of api.refusedScopes()) {
    const left = await leftOf(runtime, accessesOf(scope));
    if (left === '') continue;
    lacking.push(scope);
    const lists =
      scope === 'read'
        ? ` It has refused ${[...api.refused().keys()].filter(isListAccess).map(accessWord).join(' and ')}.`
        : '';
    messages.push(`The API refuses the scope ${scope} to the key: ${sentence(message)}${lists} ${left}.`);
  }
  if (lacking.length === 0) return null;
  const onlyPublish = lacking.every((scope) => scope === 'publish');
  const ofItsOwn = onlyPublish && target.publishKey === null ? ', or a separate key in target.publishKey,' : '';
  return fault('api.key', messages.join(' '), {
    path: onlyPublish && target.publishKey !== null ? 'target.publishKey' : 'target.apiKey',
    suggestion: `Everything else was synced. \`dpp-sync check\` shows the scopes of the key. Use a key with the scope ${lacking.join(' and ')}${ofItsOwn} and run the sync again.`,
  });
}

/** A sentence for each operation that the API refuses, although it grants the scope to other operations. */
export async function refusedOperationWarnings(runtime: Runtime): Promise<string[]> {
  const { api } = runtime;
  const lacking = api.refusedScopes();
  const warnings: string[] = [];
  for (const [access, { message }] of api.refused()) {
    if (lacking.has(scopeOf(access))) continue;
    const left = await leftOf(runtime, [access]);
    warnings.push(operationSentence(access, message) + (left === '' ? '' : ` ${left}.`));
  }
  return warnings;
}

/** Says which operation the API refuses, and what the profile can do about it. */
export function operationSentence(access: Access, message: string): string {
  const refused = `The API refuses ${accessWord(access)} to the key, and grants other ${isListAccess(access) ? 'reads' : 'operations'}: ${sentence(message)}`;
  if (access !== 'product.import') return refused;
  return `${refused} ${UNUSED_IMPORTS.refused.title} ${UNUSED_IMPORTS.refused.cure}`;
}

/** The lists that creates of a kind may need. A product is bound together with its publication. */
const LISTS_FOR_CREATES: Record<ListableKind, readonly Access[]> = {
  product: ['product.list', 'publication.list'],
  material: ['material.list'],
};

async function leftOf({ ledger, reads, api, config }: Runtime, accesses: readonly Access[]): Promise<string> {
  const refused = accesses.filter((access) => api.refused().has(access));
  const { due, unconfirmed } = await ledger.countSuspended(suspendedBy(refused, config.profile));
  const unlisted = (await reads.suspended())
    .filter(({ kind }) => refused.some((access) => LISTS_FOR_CREATES[kind].includes(access)))
    .reduce((sum, { creates }) => sum + creates, 0);
  const sent = due === 0 ? [] : [`${due} ${due === 1 ? 'delivery is' : 'deliveries are'} left to be sent`];
  const listed =
    unlisted === 0
      ? []
      : [
          `${unlisted} ${unlisted === 1 ? 'new item waits' : 'new items wait'} until a list of the platform can be read`,
        ];
  const lookedUp =
    unconfirmed === 0
      ? []
      : [`${unconfirmed} ${unconfirmed === 1 ? 'delivery is' : 'deliveries are'} left to be looked up`];
  return [...sent, ...listed, ...lookedUp].join(', and ');
}
