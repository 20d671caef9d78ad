/**
 * The status that an error of the web framework names: 400 for a body that is not JSON, and 500 for an error without a
 * status.
 */
export function errorStatus(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
}
