import { basename, dirname, extname, join } from 'node:path';
import type { ExpectedIssue, MappingCase } from '../../domain/mapping-case.ts';
import { err, ok, type Result } from '../../lib/errors.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { createFindings } from '../checks/findings.ts';
import { parseDocumentText } from '../document.ts';
import type { MappingsConfig } from '../loaded-config.ts';
import { parseSettings } from '../parse-settings.ts';
import type { ConfigProblem, PathSegment } from '../problem.ts';
import { CasesFile } from './cases-schema.ts';
import { checkCases } from './check-cases.ts';

/** A case with its place in the file. */
export interface PlacedCase extends MappingCase {
  /** From 1. */
  line: number | null;
  /** The line of a part of what the case expects, such as `['items', 0, 'fields', 'sku']`. */
  lineOf: (path: readonly PathSegment[]) => number | null;
}

/** The file with the cases of a config: `dpp-sync.cases.yaml` beside `dpp-sync.yaml`. */
export function casesFileOf(configFile: string): string {
  return join(dirname(configFile), `${basename(configFile, extname(configFile))}.cases.yaml`);
}

/** Reads the text of a file of cases, and checks it against the config. Fails with all problems at once. */
export function readCases(
  text: string,
  { config, secrets }: { config: MappingsConfig; secrets: SecretStore },
): Result<PlacedCase[], readonly ConfigProblem[]> {
  const document = parseDocumentText(text);
  if (!document.ok) return err(document.error);
  // An empty file is one without cases.
  const value = document.value.value ?? {};
  const findings = createFindings({ document: document.value, value, templates: new Map(), secrets });
  const file = parseSettings(CasesFile, value, { path: [], findings, isExpanded: () => false });
  if (file === undefined) return err(findings.problems);
  const sources = checkCases(file, config, findings);
  if (findings.problems.length > 0) return err(findings.problems);
  return ok(
    file.cases.map(({ name, given, expect: { items, issue, excluded } }, at) => ({
      name,
      given: { ...given, source: sources[at] ?? '' },
      expect: {
        ...(items === undefined ? {} : { items: items.map(withoutAbsent) }),
        ...(issue === undefined ? {} : { issue: issue.map(withoutAbsent) as ExpectedIssue[] }),
        ...(excluded === undefined ? {} : { excluded }),
      },
      line: document.value.lineOf(['cases', at]),
      lineOf: (path) => document.value.lineOf(['cases', at, 'expect', ...path]),
    })),
  );
}

type Present<Of> = { [Name in keyof Of]: Exclude<Of[Name], undefined> };

/** Leaves out the members without a value. */
function withoutAbsent<Of extends object>(members: Of): Present<Of> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Of>;
}
