import type { PlatformReader, Publication, Report } from '../domain/ports/platform.ts';
import type { Profile } from '../domain/profile.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { sha256Url } from '../lib/hash.ts';
import { isJsonObject, type JsonValue } from '../lib/json.ts';
import type { Expectation } from './answers/classify.ts';
import type { CleanText } from './answers/clean-text.ts';
import { identifierAt, urlAt, wordAt } from './answers/entry.ts';
import { fieldsIn } from './answers/json-text.ts';
import { remoteIdIn, whyNoId } from './answers/remote-id.ts';
import type { BaseUrl } from './base-url.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { ListShape, NoEntry, ReadEntry } from './listing/list-page.ts';
import { readPassportPdf } from './pdf.ts';
import { sendOnce } from './send-once.ts';
import type { Session } from './session.ts';

/** Reads what the platform has besides the catalogue, and creates reports. */
export function createReader(session: Session): PlatformReader {
  const { profile, clean, key } = session;
  const publications = publicationShape(profile, session);
  const reports = reportShape(profile, clean);
  const expectation: Expectation = { needsId: false, idPaths: profile.reports.idPaths, uniqueFields: [] };

  return {
    publications: (onPage, options) =>
      session.list({ endpoint: ENDPOINTS['publication.list'], shape: publications, onPage, ...options }),

    passportPdf: (productId, sink, signal) => readPassportPdf(session, productId, { sink, signal }),

    reports: (onPage, options) =>
      session.list({ endpoint: ENDPOINTS['report.list'], shape: reports, onPage, ...options }),

    createReport({ body, idempotencyKey }, signal) {
      const { method, path } = ENDPOINTS['report.create'];
      const write = { method, path, body: canonicalJson(body), idempotencyKey, expectation };
      return sendOnce(session, { ...write, exchange: session.inTurn, credentials: key, signal });
    },
  };
}

/** Reads entries of the list of reports ("Endpoints"; the document shows none of their fields). */
function reportShape(profile: Profile, clean: CleanText): ListShape<Report> {
  const paths = profile.reports;

  function read(entry: JsonValue): ReadEntry<Report> | NoEntry {
    const id = remoteIdIn(entry, paths, clean);
    if (id === null || !isJsonObject(entry)) return { noId: whyNoId(entry, paths, clean) };
    const fields = fieldsIn(entry, profile.list.entry);
    return {
      identity: id,
      entry: {
        id,
        type: wordAt(fields, paths.typePaths, clean)?.shown ?? null,
        status: wordAt(fields, paths.statusPaths, clean)?.shown ?? null,
        createdAt: identifierAt(fields, paths.createdAtPaths, clean),
        content: entry,
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}

/** Reads entries of the list of publications ("Endpoints"; the document shows none of their fields). */
export function publicationShape(
  profile: Profile,
  { baseUrl, clean }: { baseUrl: BaseUrl; clean: CleanText },
): ListShape<Publication> {
  const paths = profile.publications;
  const publicStates = new Set(paths.publicStates.map((state) => state.toLowerCase()));

  const product = { idPaths: paths.productIdPaths, idUrlPaths: paths.productUrlPaths };
  const any = {
    idPaths: [...paths.productIdPaths, ...paths.idPaths, ...paths.skuPaths],
    idUrlPaths: paths.productUrlPaths,
  };

  function read(entry: JsonValue): ReadEntry<Publication> | NoEntry {
    const fields = fieldsIn(entry, profile.list.entry);
    // A value may be beside the fields, such as the product in `relationships`.
    const first = <Found>(find: (place: JsonValue) => Found | null): Found | null => find(fields) ?? find(entry);
    const id = remoteIdIn(entry, paths, clean);
    const productId = first((place) => remoteIdIn(place, product, clean));
    const sku = first((place) => identifierAt(place, paths.skuPaths, clean));
    // Without any of these fields the product of the publication is unknown.
    if (id === null && productId === null && sku === null) return { noId: whyNoId(entry, any, clean) };
    const status = first((place) => wordAt(place, paths.statusPaths, clean));
    const isWithdrawn = first((place) => wordAt(place, paths.withdrawnAtPaths, clean)) !== null;
    return {
      identity: id ?? sha256Url(canonicalJson(entry)),
      entry: {
        id,
        productId,
        sku,
        status: status?.shown ?? null,
        isPublic: !isWithdrawn && (status === null || publicStates.has(status.said.toLowerCase())),
        publishedAt: first((place) => identifierAt(place, paths.publishedAtPaths, clean)),
        withdrawnAt: first((place) => identifierAt(place, paths.withdrawnAtPaths, clean)),
        url: first((place) => urlAt(place, paths.urlPaths, { origin: baseUrl.origin, clean })),
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}
