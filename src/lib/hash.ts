import { hash } from 'node:crypto';

/** SHA-256 of a text (as UTF-8), as 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

/** SHA-256 of a text (as UTF-8), as 43 characters of `[A-Za-z0-9_-]`. */
export function sha256Url(text: string): string {
  return hash('sha256', text, 'base64url');
}
