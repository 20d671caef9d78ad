import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import type { Answer } from './answer.ts';

/** A distortion of a list, which a fault causes. */
export interface ListView {
  /** How many rows have moved from the beginning to the end. */
  moved: number;
  lagMs: number;
  /** Numbers in [0, 1) for another order; null to keep it. */
  random: (() => number) | null;
}

/** A request that was admitted: the caller is known and has the right to make it, and the body is JSON. */
export interface OperationRequest {
  organizationId: number;
  /** Path parameters by the name that the endpoint table gives them. */
  params: Record<string, string>;
  /** Scheme, host and path without the query, as the client has sent them. */
  url: () => string;
  query: URLSearchParams;
  /** The parsed body; an empty object when there was none. */
  body: unknown;
  /** The text of the body. */
  bodyText: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** The distortion with which a list is shown. */
  view?: ListView | undefined;
  /** An import stores this many rows and then fails with a 500. An import with fewer good rows succeeds. */
  failsAfterRows?: number | undefined;
}

/** A query parameter, as the published schema shows it. */
export interface QueryParameter {
  name: string;
  description: string;
  /** JSON Schema. */
  schema: JsonObject;
}

/** The work of the sandbox for one row of the endpoint table. */
export interface Operation {
  /** The schema that validates the body, and that the published schema shows. Reads have none. */
  accepts?: z.ZodType;
  /** Every query parameter that `execute` reads. */
  query?: readonly QueryParameter[];
  /** The natural key of the item that is written; undefined for reads, and if the request does not contain it. */
  naturalKey(request: OperationRequest): string | undefined;
  /** The natural keys of all items that the request is about, if it can be about several. */
  naturalKeys?(request: OperationRequest): string[];
  /** Runs inside a transaction that also holds the request's idempotency record. Returns refusals and never throws. */
  execute(request: OperationRequest): Answer;
}

/** The body of an operation that takes none: it must be absent or an empty object. */
export const NoBody = z.strictObject({});

/** A member of a body, if it is a text. */
export function textMember(body: unknown, name: string): string | undefined {
  const value = member(body, name);
  return typeof value === 'string' ? value : undefined;
}

/** A member of a body, of any type. */
export function member(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}
