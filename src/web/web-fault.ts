import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import { Fault } from '../lib/errors.ts';

/** An answer that ends a request: its status, and a message for its sender. */
export class WebFault extends Error {
  readonly status: number;
  /** The problems of single members of the request. */
  readonly errors: readonly { path: string; message: string }[];
  /** The page with which the person can go on; null if it is not known. */
  readonly link: { path: string; name: string } | null;

  constructor(
    status: number,
    message: string,
    { errors = [], link = null }: Partial<Pick<WebFault, 'errors' | 'link'>> = {},
  ) {
    super(message);
    this.name = 'WebFault';
    this.status = status;
    this.errors = errors;
    this.link = link;
  }
}

/** The fault for a page that has nothing to show. */
export function notFound(message: string): WebFault {
  return new WebFault(404, message);
}

/** The fault for wrong fields of a form or of the address. */
export function badRequest(message: string): WebFault {
  return new WebFault(400, message);
}

/** The answer to an error. A null message means that the error is a defect, which only the log describes. */
export interface FaultAnswer {
  status: number;
  code: string;
  message: string | null;
  suggestion: string | null;
  /** The problems of single members of the request, if they are known. */
  errors?: readonly { path: string; message: string }[];
  /** The page with which the person can go on, if it is known. */
  link?: { path: string; name: string };
}

/** The statuses of faults that are not outages of the environment. Every other fault with exit code 3 gets 503. */
const STATUSES: Record<string, number> = {
  usage: 400,
  'item.unknown': 404,
  'item.changed': 409,
  'cases.missing': 404,
  'cases.invalid': 409,
  'daemon.busy': 429,
  'api.refused': 502,
  'api.answer': 502,
  'api.doubt': 502,
  'config.invalid': 409,
  'mapping.invalid': 409,
  interrupted: 503,
};

const REFUSED: Record<number, string> = {
  413: 'The request is larger than this server accepts.',
  415: 'The server cannot read this kind of content.',
};

/** Gives an error its HTTP status. Only this function does so. */
export function answerOf(error: unknown): FaultAnswer {
  if (error instanceof WebFault) {
    const { status, message, errors, link } = error;
    return {
      status,
      code: 'request',
      message,
      suggestion: null,
      ...(errors.length === 0 ? {} : { errors }),
      ...(link === null ? {} : { link }),
    };
  }
  const fault = error instanceof Fault ? error : ledgerFaultOf(error);
  if (fault !== null && fault.code !== 'internal') {
    const { code, message, suggestion = null } = fault;
    return { status: STATUSES[code] ?? (fault.exitCode === 3 ? 503 : 400), code, message, suggestion };
  }
  const status = errorStatus(error);
  if (status >= 500) return { status: 500, code: 'internal', message: null, suggestion: null };
  return { status, code: 'request', message: REFUSED[status] ?? 'The request cannot be understood.', suggestion: null };
}

/**
 * The status that an error of the web framework names: 400 for a body that is not JSON, and 500 for an error without a
 * status.
 */
export function errorStatus(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
}
