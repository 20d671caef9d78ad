import { basename } from 'node:path';
import { fault } from '../domain/faults.ts';
import { type Fault, sentence } from '../lib/errors.ts';

export type PathSegment = string | number;

/** A problem of the config, or in a warning a probable problem. */
export interface ConfigProblem {
  /** The place, such as `sources[0].mappings[1].fields.sku`; empty for the file as a whole. */
  path: string;
  /** The line in the config file, from 1; null if it is not known. */
  line: number | null;
  /** `found X, expected Y`, or a full sentence. Never contains a secret. */
  message: string;
  /** What to do about the problem, as a full sentence. */
  cure?: string;
}

/** Formats a path in the form that people use: `sources[0].streams.boms`. */
export function formatPath(path: readonly PathSegment[]): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(segment)) text += text === '' ? segment : `.${segment}`;
    else text += `[${JSON.stringify(segment)}]`;
  }
  return text;
}

/** One line for people: the place, the line, the problem and what to do. */
export function formatProblem(problem: ConfigProblem): string {
  const line = problem.line === null ? '' : `line ${problem.line}`;
  const place = problem.path !== '' && line !== '' ? `${problem.path} (${line})` : problem.path || line;
  const cure = problem.cure === undefined ? '' : ` ${problem.cure}`;
  return `${place === '' ? '' : `${place}: `}${sentence(problem.message)}${cure}`;
}

/** The cause of `config.invalid`, which has the problems one by one. */
class ConfigProblems extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(`${problems.length} problems in the config`);
    this.name = 'ConfigProblems';
    this.problems = problems;
  }
}

/** All problems of a config in one error, which ends a command with exit code 2. Its path is the first problem's. */
export function configFault(file: string, problems: readonly ConfigProblem[]): Fault {
  return problemsFault('config.invalid', [{ file, problems }]);
}

/** All problems of files in one error. Its path is the first problem's. */
export function problemsFault(
  code: 'config.invalid' | 'mapping.invalid' | 'cases.invalid',
  files: readonly { file: string; problems: readonly ConfigProblem[] }[],
): Fault {
  const all = files.flatMap(({ problems }) => problems);
  const [first] = all;
  const lines = files.flatMap(({ file, problems }) => [
    `${basename(file)} has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:`,
    ...problems.map((problem) => `  ${formatProblem(problem)}`),
  ]);
  return fault(code, lines.join('\n'), {
    ...(first && first.path !== '' ? { path: first.path } : {}),
    ...(first?.cure === undefined ? {} : { suggestion: first.cure }),
    cause: new ConfigProblems(all),
  });
}

/** The problems in a fault `config.invalid` or `mapping.invalid`; none for any other error. */
export function problemsOf(error: unknown): readonly ConfigProblem[] {
  return error instanceof Error && error.cause instanceof ConfigProblems ? error.cause.problems : [];
}
