// What a trap is: something that real systems do to a reader, as a behaviour of the server of the kit.

import type { JsonObject } from '../../lib/json.ts';
import type { ApiPaging, RestApi } from './rest-api.ts';
import type { Behaviour } from './rest-behaviour.ts';
import type { ApiRows } from './rest-rows.ts';

/**
 * What a read has to give. `whole`: each row once. `whole or fault`: each row once, or an error. `fault`: an error, because no
 * reader can get the rows.
 */
export type Verdict = 'whole' | 'whole or fault' | 'fault';

export interface TrapSetup {
  api: RestApi;
  /** Another row like this one, with another key. */
  copy: (row: JsonObject, number: number) => JsonObject;
}

export interface Trap {
  /** What the server does, as the end of the name of a check. */
  title: string;
  verdict: Verdict;
  /** Why the trap cannot happen; null if it can. */
  without: (api: RestApi) => string | null;
  behaviour: (setup: TrapSetup) => Behaviour;
  /** What to do if rows are missing and no error says so. */
  cure: string;
  /** Brings the rows into the state that a reader without a fault would show. */
  settle?: (rows: ApiRows) => void;
  /** The trap is also set while changes are read. */
  inChanges?: true;
}

export const SENTENCES: Record<Verdict, string> = {
  whole: 'gives each row once',
  'whole or fault': 'gives each row once, or fails',
  fault: 'fails',
};

type By = ApiPaging['by'];

const ONE_ANSWER: Partial<Record<By, string>> = {
  none: 'one answer has all rows',
  bulkJob: 'one file has all rows',
};
/** Why a trap between pages does not belong to an API. */
export const pagesOnly = (api: RestApi): string | null => ONE_ANSWER[api.page.by] ?? null;
/** Why a trap in links and tokens does not belong to an API. */
export const linksOnly = (api: RestApi, reason: string): string | null =>
  ['nextLink', 'header', 'cursor', 'graphql'].includes(api.page.by) ? null : reason;
/** For a trap that belongs to every API. */
export const always = (): null => null;
