import { kindOf } from '../domain/delivery/operation.ts';
import { fault } from '../domain/faults.ts';
import type { ListableKind, RemoteItem, SentWrite, Target } from '../domain/ports/target.ts';
import { allowedFieldsOf, type Profile } from '../domain/profile.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { type CleanText, fieldsIn, parseJson, valueAt } from './answers/answer-text.ts';
import { answersList, type Expectation, foreignAnswer, meaningOf, NOTHING_EXPECTED } from './answers/classify.ts';
import { type IdPlaces, naturalKeyIn, remoteIdIn, whyNoId } from './answers/entry.ts';
import { createWordReader, type WordReader } from './answers/import-words.ts';
import { type KeyNames, keyNamesUnder, sentIdentities } from './answers/sent-identity.ts';
import type { Credentials } from './credentials.ts';
import { createEncoder, templateOf, wireNameOf } from './encode.ts';
import { ENDPOINTS, type Endpoint, isSupported, LIST_ENDPOINTS, type SupportedOperation } from './endpoints.ts';
import type { ListShape, NoEntry, ReadEntry } from './listing/list-page.ts';
import { probeScopes } from './probe.ts';
import { createVersionedSender, sendOnce } from './send.ts';
import { keyless, type Session } from './session.ts';

/** Short, because a person or the end of an outage waits for the answer. */
const PROBE_TOTAL_MS = 10_000;

/**
 * The client of the DPP platform's API, as far as the sync needs it. It sends requests to one origin, never follows a
 * redirect, and repeats no request except for the pages of a listing. Closing the target closes the session.
 */
export function createTarget(session: Session): Target {
  const { profile, baseUrl, classifier, key, publishKey, answerBytesMax } = session;
  const { prefix } = baseUrl;
  const keyNames = keyNamesUnder(profile);
  const sentIdentity = sentIdentities(profile, keyNames);
  const words = createWordReader(profile.imports.words);
  const expectations = expectationsUnder(profile, keyNames, words);
  const catalogue = catalogueShapes(session, keyNames);
  const versioned = createVersionedSender(session, catalogue.material);
  const shapes = { ...catalogue, material: versioned.shape };

  function expectationOf(operation: SupportedOperation, write: SentWrite): Expectation {
    const expected = expectations[operation];
    if (operation !== 'product.import') return { ...expected, sent: () => sentIdentity(write) };
    const { members, areNew } = write;
    const uniqueFields = areNew === true ? keyNames.product : [];
    if (members === undefined) throw fault('internal', 'An import was to be sent without the keys of its members.');
    const { bodyMember } = profile.imports;
    let rows: readonly JsonObject[] | undefined;
    return {
      ...expected,
      uniqueFields,
      members: {
        keys: members,
        keyNames: keyNames.product,
        uniqueFields,
        idPaths: profile.idPaths.product,
        idUrlPaths: profile.idUrlPaths.product,
        entryAt: profile.list.entry,
        resultsAt: [...new Set([...profile.list.itemsAt, ...(bodyMember === null ? [] : [bodyMember]), 'rows'])],
        words,
        sent: () => (rows ??= rowsIn(write.body, profile)),
        nameField: wireNameOf(profile, 'product', 'name'),
      },
    };
  }

  return {
    ...createEncoder(profile),

    async send(write, signal) {
      const { operation } = write;
      if (!isSupported(operation)) throw fault('internal', `The API has no endpoint for ${operation}.`);
      const endpoint: Endpoint = ENDPOINTS[operation];
      const outgoing = {
        method: endpoint.method,
        path: write.path,
        body: write.body,
        idempotencyKey: write.idempotencyKey,
        expectation: expectationOf(operation, write),
        exchange: session.exchange,
        credentials: endpoint.scope === 'publish' ? (publishKey ?? key) : key,
        signal,
      };
      return endpoint.path.startsWith(LIST_ENDPOINTS.material.path)
        ? versioned.send(outgoing)
        : sendOnce(session, outgoing);
    },

    list: (kind, onPage, options) =>
      session.list({ endpoint: LIST_ENDPOINTS[kind], shape: shapes[kind], onPage, ...options }),

    count: (kind, signal) => session.count({ endpoint: LIST_ENDPOINTS[kind], shape: shapes[kind], signal }),

    async ping(signal) {
      const path = prefix + LIST_ENDPOINTS.product.path;
      const state = await key.current();
      if (!state.ok) return classifier.outcomeOf(keyless(state.message), NOTHING_EXPECTED);
      const headers = state.headers.forRead('none');
      const limits = { bytesMax: answerBytesMax, totalMs: PROBE_TOTAL_MS };
      const exchange = await session.exchange({ method: 'GET', path, headers, body: null, ...limits, signal });
      if (exchange.kind !== 'answer' || meaningOf(exchange.status) !== 'done') {
        return classifier.outcomeOf(exchange, NOTHING_EXPECTED);
      }
      if (answersList(exchange)) return { kind: 'accepted', evidence: 'bare', remoteId: null };
      const { status } = exchange;
      return foreignAnswer(
        status,
        `The API answered with ${status} to the request for a list, and the answer has no list.`,
      );
    },

    probe(signal) {
      const asker = (credentials: Credentials) => (method: Endpoint['method'], path: string, body: string | null) =>
        session.ask(credentials, {
          method,
          path: prefix + path,
          body,
          bytesMax: answerBytesMax,
          totalMs: PROBE_TOTAL_MS,
          signal,
        });
      return probeScopes({
        origin: session.baseUrl.origin,
        classifier,
        shape: shapes.product,
        places: profile.list,
        ask: asker(key),
        askToPublish: asker(publishKey ?? key),
      });
    },

    async rereadKey() {
      const changed = await Promise.all([key.reread(), publishKey?.reread() ?? false]);
      return changed.includes(true);
    },

    close: () => session.close(),
  };
}

/** The fields of the products in the body of an import, in their order. */
function rowsIn(body: string | null, profile: Profile): JsonObject[] {
  const { bodyMember } = profile.imports;
  const value = body === null ? undefined : parseJson(body);
  const rows = value !== undefined && isJsonObject(value) && bodyMember !== null ? value[bodyMember] : value;
  const fieldsAt = templateOf(profile, 'productRow')?.places.get('fields') ?? null;
  return Array.isArray(rows) ? rows.map((row) => fieldsIn(row, fieldsAt)).filter(isJsonObject) : [];
}

function expectationsUnder(
  profile: Profile,
  keyNames: KeyNames,
  words: WordReader,
): Record<SupportedOperation, Expectation> {
  const entryAt = profile.list.entry;
  const of = (operation: SupportedOperation, needsId: boolean, uniqueFields: readonly string[]): Expectation => {
    const kind = kindOf(operation);
    const places = { idPaths: profile.idPaths[kind], idUrlPaths: profile.idUrlPaths[kind] };
    return {
      needsId,
      ...places,
      uniqueFields,
      entryAt,
      ...(needsId && { createsAt: ENDPOINTS[operation].path, words }),
    };
  };
  // The id in an answer about a passport or an import is not the id of the product.
  const nothing = NOTHING_EXPECTED;
  const { statusPaths, productIdPaths, publicStates, withdrawnStates } = profile.publications;
  const passport = (done: readonly string[] | null): Expectation => ({
    ...nothing,
    entryAt,
    isPassport: true,
    ...(done !== null && {
      state: {
        statusPaths,
        done: new Set(done.map((state) => state.toLowerCase())),
        idPaths: [...profile.idPaths.product, ...productIdPaths],
      },
    }),
  });
  return {
    'product.create': of('product.create', true, keyNames.product),
    'product.import': nothing,
    'material.create': of('material.create', true, keyNames.material),
    'material.update': of('material.update', false, []),
    // No item refers to a BOM item, and the API can neither read nor update one.
    'bom_item.create': { ...of('bom_item.create', false, []), unlisted: true },
    'passport.init': passport(null),
    'passport.publish': passport(publicStates),
    'passport.unpublish': passport(withdrawnStates),
  };
}

/** How the lists of products and materials are read. */
export function catalogueShapes(
  { profile, clean }: Session,
  keyNames: KeyNames = keyNamesUnder(profile),
): Record<ListableKind, ListShape<RemoteItem>> {
  const shapeOf = (kind: ListableKind) =>
    itemShape(
      {
        itemsAt: profile.list.itemsAt,
        entryAt: profile.list.entry,
        idPaths: profile.idPaths[kind],
        idUrlPaths: profile.idUrlPaths[kind],
        naturalKeyFields: keyNames[kind],
        wireNames: new Map(allowedFieldsOf(profile, kind).map((name) => [name, wireNameOf(profile, kind, name)])),
      },
      clean,
    );
  return { product: shapeOf('product'), material: shapeOf('material') };
}

/** The names of the identifying fields in the entries of a catalogue. */
interface ItemPaths extends IdPlaces {
  itemsAt: readonly string[];
  /** The dotted path of the fields in an entry; null if the entry has them itself. */
  entryAt: string | null;
  /** The names of the natural key's fields, in order of preference. */
  naturalKeyFields: readonly string[];
  /** The names of an item's fields in answers, by canonical name. */
  wireNames: ReadonlyMap<string, string>;
}

/** Reads products and materials of a listing: the id, the natural key, and the fields that the listing shows. */
export function itemShape(paths: ItemPaths, clean: CleanText): ListShape<RemoteItem> {
  function read(entry: JsonValue): ReadEntry<RemoteItem> | NoEntry {
    const remoteId = remoteIdIn(entry, paths, clean);
    if (remoteId === null) return { noId: whyNoId(entry, paths, clean) };
    const item = fieldsIn(entry, paths.entryAt);
    const naturalKey = naturalKeyIn(item, paths.naturalKeyFields);
    return { identity: remoteId, entry: { remoteId, naturalKey, fields: shownFields(item, paths.wireNames) } };
  }
  return { itemsAt: paths.itemsAt, read };
}

function shownFields(entry: JsonValue, wireNames: ItemPaths['wireNames']): JsonObject {
  const shown: [string, JsonValue][] = [];
  for (const [name, wireName] of wireNames) {
    const value = valueAt(entry, wireName);
    if (value !== undefined) shown.push([name, value]);
  }
  return Object.fromEntries(shown);
}
