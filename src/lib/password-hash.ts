import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

/** The cost of a new hash: 32 MiB and some 100 ms. OWASP's Password Storage Cheat Sheet names N=2^15, r=8, p=3. */
const COST = { log2N: 15, r: 8, p: 3 };
/** The bounds of accepted costs: a password must be costly to guess, and checking it must not use up the memory. */
const LOG2N_MIN = 14;
const MEMORY_MAX = 256 * 1024 * 1024;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** `$scrypt$ln=15,r=8,p=3$SALT$KEY`, with salt and key in base64 without padding, as in the PHC string format. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,86})\$([A-Za-z0-9+/]{43,86})$/;

const LENGTH_MIN = 10;
export const PASSWORD_BYTES_MAX = 1024;

/** Why a text is not accepted as a new password, in a full sentence; null if it is. */
export function passwordProblem(password: string): string | null {
  if (password.length < LENGTH_MIN) return `The password has fewer than ${LENGTH_MIN} characters.`;
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX)
    return `The password has more than ${PASSWORD_BYTES_MAX} bytes.`;
  return null;
}

interface Parsed {
  log2N: number;
  r: number;
  p: number;
  salt: Buffer;
  key: Buffer;
}

function parse(hash: string): Parsed | null {
  const [, ln = '', r = '', p = '', salt = '', key = ''] = FORM.exec(hash) ?? [];
  const cost = { log2N: Number(ln), r: Number(r), p: Number(p) };
  if (cost.log2N < LOG2N_MIN || cost.r < 8 || cost.p < 1 || cost.p > 16) return null;
  if (128 * cost.r * 2 ** cost.log2N > MEMORY_MAX) return null;
  return { ...cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}

function keyOf(password: string, { log2N, r, p, salt, key }: Parsed): Promise<Buffer> {
  const N = 2 ** log2N;
  return derive(password.normalize('NFC'), salt, key.length, { N, r, p, maxmem: 2 * 128 * N * r });
}

/** True for a text that `hashPassword` may have made. */
export function isPasswordHash(text: string): boolean {
  return parse(text) !== null;
}

/** Makes a hash of a password. The password can only be found by guessing. */
export async function hashPassword(password: string): Promise<string> {
  const parsed = { ...COST, salt: randomBytes(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) };
  const key = await keyOf(password, parsed);
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${COST.log2N},r=${COST.r},p=${COST.p}$${text(parsed.salt)}$${text(key)}`;
}

/** True if the hash was made from this password. A hash that cannot be read matches no password. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const parsed = parse(hash);
  return parsed !== null && timingSafeEqual(await keyOf(password, parsed), parsed.key);
}
