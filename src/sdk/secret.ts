import { z } from 'zod';

/** The longest secret, long enough for a private key. */
const LENGTH_MAX = 65_536;

/**
 * An option whose value is never shown: a password, a token, a private key. The program removes the value from logs and
 * messages, and reads it again from its file or variable whenever the source is opened, so that a new password needs no
 * restart. Nevertheless do not put it into the texts of your connector.
 */
export function secret(): z.ZodString {
  return z.string().min(1, 'a value that is not empty').max(LENGTH_MAX).meta({ secret: true });
}
