import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import type { Answer } from './answer.ts';

/** How a list is shown otherwise than it is. */
export interface ListView {
  /** So many rows have gone from the beginning to the end. */
  moved: number;
  lagMs: number;
  /** Numbers in [0, 1) for another order; null to keep it. */
  random: (() => number) | null;
}

/** A request that was admitted: the caller is known, may do this, and the body is JSON. */
export interface OperationRequest {
  organizationId: number;
  /** Path parameters by the name that the endpoint table gives them. */
  params: Record<string, string>;
  /** Scheme, host and path without the query, as the client addressed them. */
  url: () => string;
  query: URLSearchParams;
  /** The parsed body; an empty object when there was none. */
  body: unknown;
  /** The body as it was sent. */
  bodyText: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** How a list is to be shown otherwise than it is. */
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
  /** The natural key of the thing that is written; undefined for reads, and where the request does not have it. */
  naturalKey(request: OperationRequest): string | undefined;
  /** The natural keys of everything that the request is about, where it can be about several things. */
  naturalKeys?(request: OperationRequest): string[];
  /** Runs inside a transaction that also holds the request's idempotency record. It returns refusals, and throws never. */
  execute(request: OperationRequest): Answer;
}

/** The body of an operation that takes none: nothing at all, or an empty object. */
export const NoBody = z.strictObject({});

/** A member of a body, where it is a text. */
export function textMember(body: unknown, name: string): string | undefined {
  const value = member(body, name);
  return typeof value === 'string' ? value : undefined;
}

/** A member of a body, of any type. */
export function member(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}
