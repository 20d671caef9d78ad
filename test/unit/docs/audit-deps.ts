// Asks npm's registry for advisories about the packages in package-lock.json: `npm run audit:deps`. The exit code is 0
// if there is no advisory of at least moderate severity, 1 if there is one, and 3 if the registry does not answer.

import { spawnSync } from 'node:child_process';

const SEVERITIES = ['moderate', 'high', 'critical'];

interface Advisory {
  name: string;
  severity: string;
  title: string;
  url: string;
  range: string;
}

interface Report {
  /**
   * The advisories by package. `via` has those of the package itself, and the names of its dependencies that have some.
   */
  vulnerabilities?: Record<string, { via: (Advisory | string)[]; nodes: string[] }>;
  metadata?: { dependencies: { total: number } };
  message?: string;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function reportIn(stdout: string): Report {
  try {
    return JSON.parse(stdout) as Report;
  } catch {
    // npm has printed no report. The caller shows stderr, which has the reason.
    return {};
  }
}

const { stdout, stderr } = spawnSync('npm', ['audit', '--package-lock-only', '--json', '--fetch-retries=1'], {
  encoding: 'utf8',
});
const { vulnerabilities, metadata, message } = reportIn(stdout);
if (vulnerabilities === undefined || metadata === undefined) {
  say(`The dependencies were not checked, as no source of advisories could be reached: ${message ?? stderr.trim()}.`);
  say('Run this where npm reaches a registry that answers `npm audit`, or name one: npm_config_registry=URL.');
  process.exitCode = 3;
} else {
  const found = Object.values(vulnerabilities).flatMap(({ via, nodes }) =>
    via
      .filter((one) => typeof one !== 'string')
      .filter(({ severity }) => SEVERITIES.includes(severity))
      .map(({ severity, name, range, title, url }) => [severity, `${name} ${range}`, title, url, nodes.join(' ')]),
  );
  if (found.length === 0) {
    say(`No advisory of moderate or higher severity applies to the ${metadata.dependencies.total} packages.`);
  } else {
    const rows = [['severity', 'versions', 'advisory', 'address', 'installed as'], ...found];
    const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
    for (const row of rows)
      say(
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      );
    process.exitCode = 1;
  }
}
