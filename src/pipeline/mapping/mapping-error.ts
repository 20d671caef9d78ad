/** Why a value could not be mapped. The error becomes an issue of the row and is never thrown out of `map`. */
export class MappingError extends Error {
  /** The code, such as `country.unknown`. */
  readonly code: string;
  /** What to do about the error, as a full sentence. */
  readonly cure: string | undefined;

  constructor(code: string, message: string, cure?: string) {
    super(message);
    this.name = 'MappingError';
    this.code = code;
    this.cure = cure;
  }
}
