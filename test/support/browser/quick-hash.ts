import { scryptSync } from 'node:crypto';

const SALT = Buffer.alloc(16, 'salt');

/**
 * The hash of a password with the lowest cost that the program accepts. It takes a sixth of the time of `hashPassword`.
 */
export function quickHash(password: string): string {
  const key = scryptSync(password, SALT, 32, { N: 2 ** 14, r: 8, p: 1 });
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=14,r=8,p=1$${text(SALT)}$${text(key)}`;
}
