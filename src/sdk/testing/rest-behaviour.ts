import type { JsonValue } from '../../lib/json.ts';
import type { PageParts } from './rest-paging.ts';
import type { ApiRows } from './rest-rows.ts';

/** A number that the answer has as it is, although no double can hold it. */
export const EXACT = '9007199254740993';
export const EXACT_MARK = `@@${EXACT}@@`;

/** What the server answers. */
export interface ApiReply {
  status?: number;
  headers?: Record<string, string>;
  /** The answer as JSON, or a text as it is. */
  document?: JsonValue;
  text?: string;
  /** Sends only the first half of the answer, and cuts the connection. */
  isCut?: boolean;
}

/** What the server does besides giving pages. `page` counts the different requests of a read, and `attempt` equal ones. */
export interface Behaviour {
  /** The names of the first tokens. */
  tokens?: readonly string[];
  /** Something that happens to the rows before a request is answered for the first time. */
  before?: (page: number, rows: ApiRows, size: number) => void;
  /** How many rows the page has. */
  size?: (page: number, asked: number) => number;
  /** How many rows lie before the page. */
  start?: (page: number, attempt: number, start: number, size: number) => number;
  /** Only so many rows exist for the reader. */
  cap?: number;
  /** Changes the parts of an answer. */
  edit?: ((parts: PageParts, page: number) => void) | undefined;
  /** Answers in place of the server, or changes its answer. `former` is the last answer for another page, and `rows` how many rows the answer has. */
  reply?: (
    page: number,
    attempt: number,
    context: { answer: ApiReply; former: ApiReply | null; rows: number },
  ) => ApiReply | null;
  /** From the first attempt for this page on, the token of the login is another one. */
  loginEndsAt?: number;
  /** Requests for the links of changes are answered with this status. */
  changesStatus?: number;
}
