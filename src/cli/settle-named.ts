import { unknownItem } from '../admin/unknown-item.ts';
import { createCleanText } from '../api/clean-text.ts';
import type { RuntimeConfig } from '../daemon/open-source.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { kindToBind, type PersonsWord, personsVerdict } from '../delivery/persons-word.ts';
import type { Operation } from '../domain/delivery.ts';
import { fault } from '../domain/faults.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';
import { mayBeSettled, type Resolution } from '../domain/manual.ts';
import type { NamedDelivery } from '../domain/ports/doubt.ts';
import type { ItemView } from '../domain/ports/ledger-views.ts';
import { kindWord, stateWord } from '../domain/words.ts';
import { shellWord } from '../lib/shell-word.ts';
import type { CommandContext } from './context.ts';
import { givenId, inOwnType, remoteIdOf } from './remote-id.ts';
import { settleAmbiguous } from './settle-contact.ts';
import { plural, printable } from './style.ts';

interface Said {
  said: Resolution;
  id?: string;
  kind?: SubjectKind;
}

/** What a key means: a delivery to be settled, or an item that is gone from its source. */
type Meant = { delivery: NamedDelivery; word: PersonsWord } | { missing: Pick<ItemView, 'kind' | 'key'> };

interface Told {
  kind: SubjectKind;
  key: string;
  /** Null where a missing item was accepted. */
  operation: Operation | null;
}

/**
 * Settles what the keys name. All of them are looked up before the first is settled, so that a mistyped one settles nothing.
 *
 * @throws Fault `item.unknown` or `usage`, and what `remoteIdOf` throws
 */
export async function settleNamed(
  names: readonly string[],
  { said, id, kind }: Said,
  { context, config }: { context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const given = id === undefined ? null : givenId(id, createCleanText(context.secrets));
  const abort = context.interruption();
  const runtime = await context.openRuntime(config, 'settle');
  try {
    const [only] = names;
    if (only !== undefined && given !== null) {
      const kinds = (['product', 'material'] as const).filter((one) => kind === undefined || one === kind);
      if (await settleAmbiguous(only, { kinds, id: given }, runtime, context.output)) return 0;
    }
    const meant: Meant[] = [];
    for (const name of names) meant.push(await look(name, { said, given, kind: kind ?? null }, runtime, abort));
    let released = 0;
    for (const one of meant) released += await carryOut(one, runtime);
    tell(meant.map(toldOf), released, { runtime, output: context.output });
    return 0;
  } finally {
    await runtime.close();
  }
}

interface Asked {
  said: Resolution;
  given: string | null;
  kind: SubjectKind | null;
}

async function look(name: string, asked: Asked, runtime: Runtime, abort: AbortSignal): Promise<Meant> {
  const { said, given, kind } = asked;
  const all = (await runtime.ledger.deliveriesNamed(name)).filter((one) => kind === null || one.kind === kind);
  const meant = all.filter((one) => mayBeSettled(one, said));
  const [only] = meant;
  if (only === undefined) {
    const missing = said === 'ignored' ? missingItem(name, kind, runtime.views) : null;
    if (missing !== null) return { missing };
    throw nothingToSettle(name, asked, all, runtime.views);
  }
  if (meant.length > 1) throw several(name, meant);
  if (said !== 'delivered') return { delivery: only, word: { said } };
  if (only.reason.code === 'ambiguous_key') throw fault('usage', only.reason.message);
  return { delivery: only, word: await delivered(only, given, runtime, abort) };
}

async function delivered(
  delivery: NamedDelivery,
  given: string | null,
  runtime: Runtime,
  abort: AbortSignal,
): Promise<PersonsWord> {
  const kind = kindToBind(delivery.operation);
  const said = 'delivered' as const;
  if (kind !== null) return { said, remoteId: await remoteIdOf(delivery, { kind, given }, runtime, abort) };
  if (given !== null && delivery.operation !== 'bom_item.create') {
    throw fault('usage', `${delivery.operation} of "${delivery.key}" gives nothing a new id: leave --id out.`);
  }
  return { said, remoteId: given === null ? null : inOwnType(given, delivery.kind, runtime.views) };
}

/** Gives how many deliveries became due. */
async function carryOut(meant: Meant, { ledger }: Pick<Runtime, 'ledger'>): Promise<number> {
  if ('missing' in meant) {
    const { kind, key } = meant.missing;
    await ledger.acceptMissing({ name: key, kind, source: null });
    return 0;
  }
  const { delivery, word } = meant;
  // The lock is ours, so nobody else has settled it since.
  const verdict = personsVerdict(delivery, word);
  return (await ledger.settle({ deliveryId: delivery.id, verdict, manual: true })).released;
}

function missingItem(name: string, kind: SubjectKind | null, views: Runtime['views']): ItemView | null {
  const kinds = kind === null ? SUBJECT_KINDS : [kind];
  const found = kinds.flatMap((one) => views.item(one, name) ?? []).filter((item) => item.missing);
  const [only] = found;
  if (found.length <= 1) return only ?? null;
  throw fault('usage', `Several items under "${name}" are missing from their sources.`, {
    suggestion: `Say which one with --kind ${found.map((item) => item.kind).join(' or --kind ')}.`,
  });
}

function several(name: string, meant: readonly NamedDelivery[]): Error {
  const names = meant.map(({ kind, key, operation }) => `${kindWord(kind)} ${key} (${operation})`);
  const kinds = new Set(meant.map(({ kind }) => kind));
  return fault('usage', `Several deliveries under "${name}" can be settled: ${names.join(', ')}.`, {
    suggestion:
      kinds.size > 1
        ? `Say which one with --kind ${[...kinds].join(' or --kind ')}.`
        : 'Name one by its key in place of its SKU or code.',
  });
}

function nothingToSettle(
  name: string,
  { said, kind }: Asked,
  all: readonly NamedDelivery[],
  views: Runtime['views'],
): Error {
  const kinds = kind === null ? SUBJECT_KINDS : [kind];
  const known = kinds.flatMap((one) => views.item(one, name) ?? []);
  const [item] = known;
  if (item === undefined) return unknownItem(kind ?? 'product', name, views);
  const states = known.map((one) => `the ${kindWord(one.kind)} is ${stateWord(one.state)}`);
  const [stuck] = all;
  return fault('usage', `Nothing of "${name}" can be settled as ${said}: ${states.join(', ')}.`, {
    suggestion:
      said === 'ignored' && stuck !== undefined
        ? otherThanIgnoring(stuck)
        : `\`dpp-sync show ${item.kind} ${shellWord(item.key)}\` says where it stands and what can be done.`,
  });
}

/** Why a delivery cannot be ignored, and what can be said of it. */
function otherThanIgnoring({ kind, key }: NamedDelivery): string {
  return kind === 'passport'
    ? `If nobody wants the passport any more, run \`dpp-sync unpublish ${shellWord(key)}\`.`
    : 'It may have arrived: look at the platform, then say --delivered or --rejected.';
}

function toldOf(meant: Meant): Told {
  if ('missing' in meant) return { kind: meant.missing.kind, key: meant.missing.key, operation: null };
  const { kind, key, operation } = meant.delivery;
  return { kind, key, operation };
}

function tell(
  told: readonly Told[],
  released: number,
  { runtime, output }: { runtime: Runtime; output: CommandContext['output'] },
): void {
  const documents = told.map(({ kind, key, operation }) => {
    const item = runtime.views.item(kind, key);
    return { kind, key, operation, state: item?.state ?? 'delivered', remoteId: item?.remoteId ?? null };
  });
  const [only] = documents;
  if (output.json && only !== undefined && documents.length === 1) output.document({ ok: true, ...only, released });
  else if (output.json) {
    output.document({ ok: true, settled: documents.length, left: 0, released, deliveries: documents });
  }
  for (const { kind, key, operation, state } of documents) {
    output.print(
      operation === null
        ? `Noted. The ${kindWord(kind)} ${printable(key)} may be missing from its source.`
        : `Noted. The ${kindWord(kind)} ${printable(key)} is ${stateWord(state)} now.`,
    );
  }
  if (released > 0) {
    output.print(`${plural(released, 'delivery that waited is', 'deliveries that waited are')} due: dpp-sync sync`);
  }
}
