import { fault } from '../domain/faults.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { expandTemplate, type Interpolation, unsetVariables } from './interpolate.ts';

/** A secret of the config. No config object has its value, so that the value cannot be printed by accident (I7). */
export function createSecretSource(
  options: Interpolation & {
    path: string;
    /** The text with its placeholders, or null if there are none. */
    template: string | null;
    value: string;
    secrets: SecretStore;
  },
) {
  const { path, template, value, secrets } = options;
  return {
    /** The path of the secret in the config. */
    path,
    /** The variables that are not set, so that the value has their defaults. */
    unset: template === null ? [] : unsetVariables(template, options.env),
    /**
     * Reads the present value from the file or variable, so that a changed key is used without a restart. It is
     * registered with the secret store before it is returned.
     *
     * @throws Fault `config.invalid` when the file or variable is gone
     */
    async read(): Promise<string> {
      if (template === null) return value;
      const expanded = await expandTemplate(template, options);
      if (!expanded.ok) {
        const [problem] = expanded.error;
        throw fault('config.invalid', `${path}: ${problem?.message ?? 'the value is gone'}.`, {
          path,
          ...(problem?.cure === undefined ? {} : { suggestion: problem.cure }),
        });
      }
      const { text } = expanded.value;
      for (const secret of [text, ...expanded.value.secrets]) secrets.add(secret);
      return text;
    },
  };
}

export type SecretSource = ReturnType<typeof createSecretSource>;
