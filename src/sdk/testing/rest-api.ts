// What the author of a REST connector says about the API, so that a server of the kit can take its place.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { EACH, type PathStep, parseDocumentPath, valueAt } from '../document-path.ts';
import type { Recording } from '../rest/exchange.ts';
import type { Settings } from './source-under-test.ts';

/** A request as one document, into which paths lead: `$.query.limit`, `$.body.variables.after`. */
export type ApiRequest = {
  method: string;
  path: string;
  /** The parameters of the address. One that is JSON is its value. */
  query: JsonObject;
  body: JsonValue;
  /** Names in lower case. */
  headers: JsonObject;
};

/** Where a request has a value: a path into it, or a function if the value is a part of a text. */
export type InRequest = string | ((request: ApiRequest) => JsonValue | undefined);

/** How many rows a full page has: a number, or where a request asks for them. */
export type PageSize = number | InRequest;

/**
 * What a token or link of the server names. `rows`: the row after which the next page begins. `positions`: how many rows lie before it,
 * so that rows which come and go move the others.
 */
export type TokensOf = 'rows' | 'positions';

/** How the API gives a list in pages. Paths lead into an answer. */
export type ApiPaging =
  /** `size` is the most rows that the server gives; null if it has no limit. */
  | { by: 'none'; size: number | null }
  | { by: 'nextLink'; next: string; size: PageSize; tokens?: TokensOf }
  | { by: 'header'; size: PageSize; tokens?: TokensOf }
  | { by: 'cursor'; at: InRequest; next: string; more?: string; size: PageSize; tokens?: TokensOf }
  /** `after` is the path of the value in a row. */
  | { by: 'keyset'; at: InRequest; after: string; size: PageSize }
  | { by: 'offset'; at: InRequest; more?: string; size: PageSize }
  | { by: 'page'; at: InRequest; first?: 0 | 1; more?: string; size: PageSize }
  | { by: 'graphql'; at: InRequest; connection: string; size: PageSize; tokens?: TokensOf }
  /**
   * `status` is the path of the address that has the state of the job, without its id. It is a function if requests for the state have
   * the path of others.
   */
  | {
      by: 'bulkJob';
      status: string | ((request: Pick<ApiRequest, 'path' | 'body'>) => boolean);
      job: string;
      state: string;
      done: string;
      result: string;
      count?: string;
    };

/** The API of a system, as its documentation describes it. */
export interface RestApi {
  /** The path of the list: `/api/v1/items`. With `bulkJob`, the path that starts the job. */
  path: string;
  /** The path of the list of rows in an answer; `$` if the answer is the list. */
  rows: string;
  /** An answer with all that stands around the list. Without it, a recorded answer is taken, or the shortest possible one. */
  document?: JsonValue;
  page: ApiPaging;
  /** Where a request asks for a stable order. Without it the server sorts the rows in another way for each page. */
  order?: InRequest;
  /** Where an answer has the number of all rows. */
  total?: string | { header: string };
  /** Where a request asks for that number. Without it an answer has none. */
  totalAsked?: InRequest;
  /** A row as the answer to a request has it; null if the answer leaves it out, as lists do it with rows that nobody asked for. */
  given?: (row: JsonObject, request: ApiRequest) => JsonObject | null;
  /** A login that gives tokens, by the path to which it is sent. The server refuses a request whose header lacks the token. */
  login?: { path: string; answer: (token: string) => JsonValue; header?: string };
  /** How the API gives changes: a request with a time in it, or a link on the last page. */
  changes?: {
    since?: InRequest;
    /** The time that a text of `since` means, in milliseconds since the epoch. Without it, a time without a zone is in UTC. */
    timeOf?: (text: string) => number;
    deltaLink?: string;
    /** How the API gives changes in pages, if not as a list of all rows. */
    page?: Exclude<ApiPaging, { by: 'bulkJob' }>;
    /** The row for a record that is gone. */
    gone?: (row: JsonObject) => JsonObject;
  };
  /** The most rows that the API gives for one request with all its pages. The settings may have a lower one than the real API. */
  cap?: number;
  /** True if a page must not be requested twice: a failure ends the read, which has to begin again. */
  restarts?: true;
  /** Answers other requests, such as those for the children of a row. A recording answers those that it has. */
  answer?: (request: ApiRequest) => JsonValue | undefined;
}

/** What the author of a REST connector provides for `restChecks`. */
export interface RestFixtures {
  /** The settings of a stream, for a server at this address: `http://127.0.0.1:12345`. */
  settings: (base: string) => Settings;
  api: RestApi;
  /** What the server has: a recording of `dpp-sync connector record`, or rows after the documentation. At least three pages. */
  records: Recording | readonly JsonObject[];
  /** Changes a row so that the connector gives other values. Without it, a text that is not a part of the key is changed. */
  change?: (row: JsonObject) => JsonObject;
  /** Another row like this one, with another key. Without it, the key columns get other values. */
  copy?: (row: JsonObject, number: number) => JsonObject;
}

/** The steps of a path. @throws an error if the text is no path */
export function stepsOf(path: string): PathStep[] {
  const steps = parseDocumentPath(path);
  if (steps === null) throw new Error(`${path} is no path. A path is like $.data.items.`);
  return steps;
}

export function inRequest(request: ApiRequest, at: InRequest): JsonValue | undefined {
  return typeof at === 'string' ? valueAt(request as JsonObject, stepsOf(at)) : at(request);
}

/** True if a request has a value there. */
export function isAsked(at: InRequest, request: ApiRequest): boolean {
  return (inRequest(request, at) ?? null) !== null;
}

/** A copy of a document that has a value at a path. Objects that the path needs are made. */
export function withValue(document: JsonValue, path: string, value: JsonValue): JsonValue {
  return put(document, stepsOf(path), value);
}

/** A copy of a document without the member at a path. */
export function withoutMember(document: JsonValue, path: string): JsonValue {
  const steps = stepsOf(path);
  const name = steps.pop();
  const around = valueAt(document, steps);
  if (typeof name !== 'string' || !isJsonObject(around)) return document;
  const { [name]: _, ...rest } = around;
  return put(document, steps, rest);
}

function put(at: JsonValue, [step, ...rest]: PathStep[], value: JsonValue): JsonValue {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list = Array.isArray(at) ? [...at] : [];
    list[step] = put(list[step] ?? null, rest, value);
    return list;
  }
  if (step === EACH) {
    if (!Array.isArray(value)) throw new Error('A path of `api` with [*] leads to a value that is no list.');
    return value.map((element) => put(null, rest, element));
  }
  const object = isJsonObject(at) ? at : {};
  return { ...object, [step]: put(object[step] ?? null, rest, value) };
}
