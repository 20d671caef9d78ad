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
