import { suspendedBy } from '../../delivery/admission/suspended-work.ts';
import type { Scope } from '../../domain/delivery/scope.ts';
import { fault } from '../../domain/faults.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Fault } from '../../lib/errors.ts';
import type { Runtime } from '../runtime.ts';

/** The fault for deliveries that were not sent because the API refuses their scope; null if there are none. */
export async function refusedScopeFault({
  api,
  ledger,
  config,
}: Pick<Runtime, 'api' | 'config'> & { ledger: Pick<DeliveryLedger, 'countSuspended'> }): Promise<Fault | null> {
  const { profile, target } = config;
  const lacking: Scope[] = [];
  const messages: string[] = [];
  for (const [scope, { message }] of api.refused()) {
    const left = leftWords(await ledger.countSuspended(suspendedBy([scope], profile)));
    if (left === '') continue;
    lacking.push(scope);
    messages.push(`The API refuses the scope ${scope} to the key: ${message.replace(/\.?$/, '.')} ${left}.`);
  }
  if (lacking.length === 0) return null;
  const onlyPublish = lacking.every((scope) => scope === 'publish');
  const ofItsOwn = onlyPublish && target.publishKey === null ? ', or a separate key in target.publishKey,' : '';
  return fault('api.key', messages.join(' '), {
    path: onlyPublish && target.publishKey !== null ? 'target.publishKey' : 'target.apiKey',
    suggestion: `Everything else was synced. \`dpp-sync check\` shows the scopes of the key. Use a key with the scope ${lacking.join(' and ')}${ofItsOwn} and run the sync again.`,
  });
}

function leftWords({ due, unconfirmed }: Awaited<ReturnType<DeliveryLedger['countSuspended']>>): string {
  const sent = due === 0 ? [] : [`${due} ${due === 1 ? 'delivery is' : 'deliveries are'} left to be sent`];
  const lookedUp =
    unconfirmed === 0
      ? []
      : [`${unconfirmed} unconfirmed ${unconfirmed === 1 ? 'delivery is' : 'deliveries are'} left to be looked up`];
  return [...sent, ...lookedUp].join(', and ');
}
