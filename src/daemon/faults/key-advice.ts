import type { SecretSource } from '../../config/secret-source.ts';

/**
 * What to do about a key that the API refuses. If the key is only the default of a placeholder, the advice names the
 * variable and never shows the key.
 *
 * @param otherwise the advice for a key that was given
 */
export function keyAdvice({ unset }: Pick<SecretSource, 'unset'>, otherwise: string): string {
  const [name] = unset;
  if (name === undefined) return otherwise;
  return `The variable ${name} is not set, so the key is the default that the config has for it. Set ${name} to a key of the platform.`;
}
