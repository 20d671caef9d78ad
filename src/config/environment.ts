/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of this process. Only this file reads them, and passes the needed ones to the other parts. */
export function processEnvironment(): Environment {
  // oxlint-disable-next-line node/no-process-env
  return process.env;
}
