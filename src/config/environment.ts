/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of this process. The one place that reads them; everything else is handed what it needs. */
export function processEnvironment(): Environment {
  // oxlint-disable-next-line node/no-process-env
  return process.env;
}
