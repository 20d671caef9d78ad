/** What may be shown of a key: its first 8 characters, the prefix that the platform shows as well. */
export function maskSecret(secret: string): string {
  return secret.length > 12 ? `${secret.slice(0, 8)}…` : '…';
}

/**
 * A set of values that must never be printed (I7). Secrets are kept out of messages in the first place; scrubbing is the
 * second line, for texts from elsewhere (a library's error, an API's answer) that may repeat one.
 */
export interface SecretStore {
  add(secret: string): void;
  /** The text with every known secret replaced by its mask. */
  scrub(text: string): string;
}

export function createSecretStore(): SecretStore {
  const known = new Set<string>();
  return {
    add(secret) {
      // Anything shorter would blank out ordinary words.
      if (secret.length >= 6) known.add(secret);
    },
    scrub(text) {
      let clean = text;
      for (const secret of known) clean = clean.replaceAll(secret, maskSecret(secret));
      return clean;
    },
  };
}
