import type { Profile } from '../../../src/domain/profile.ts';
import { type ItemState, readItems, remoteOf, showsPayload } from './check.ts';
import type { ModelApi } from './model-api.ts';
import type { ModelProcess } from './model-process.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Witness } from './witness.ts';

/**
 * Looks at the platform for each delivery that only a person can tell of, and says what is there: the write took effect, or
 * it did not and goes out again.
 */
export async function helpAsPerson(
  file: string,
  parts: { process: ModelProcess; api: ModelApi; witness: Witness; profile: Profile; time: VirtualTime },
): Promise<void> {
  const { process, api, time } = parts;
  if (api.working() > 0) return;
  const items = readItems(file);
  for (const item of items) {
    if (item.open?.state !== 'in_doubt' || item.open.dueAt > 0) continue;
    const remote = remoteOf(api, item, items);
    const said =
      remote !== null && hasTakenEffect(item, remote)
        ? process.ledger.settle({
            deliveryId: item.open.id,
            verdict: {
              kind: 'delivered',
              remoteId:
                item.kind === 'passport' || item.open.operation === 'product.import' ? null : (remote['id'] ?? null),
              contentKnown: true,
              by: 'person',
            },
          })
        : process.replay({
            selection: { states: ['in_doubt'], sources: [], keys: [], deliveryIds: [item.open.id] },
            force: true,
            dryRun: false,
          });
    said.catch((error: unknown) => {
      parts.witness.breaches.push(`Threw: ${String(error)}`);
    });
    await time.settle();
    process.wake();
  }
}

function hasTakenEffect({ kind, open }: ItemState, remote: Record<string, unknown>): boolean {
  const sent = open?.desired ?? {};
  if (kind === 'passport') return remote['status'] === sent['status'];
  return showsPayload(remote as never, sent);
}
