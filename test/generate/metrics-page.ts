import { METRICS, type MetricDefinition } from '../../src/observe/metric-definitions.ts';

const INTRODUCTION = `# Metrics

This page is generated from the code (\`npm run generate\`); change the descriptions in \`src/observe/metric-definitions.ts\`.

The daemon serves its metrics under \`/metrics\` in the text format of Prometheus, to whoever has the token or a user of any role:

\`\`\`yaml
scrape_configs:
  - job_name: dpp-sync
    authorization: { credentials_file: /etc/prometheus/dpp_sync_token }
    static_configs: [{ targets: ["dpp-sync.example.com:4280"] }]
\`\`\`

[\`config/prometheus/alerts.yaml\`](../config/prometheus/alerts.yaml) has rules for alerts, and
[\`config/grafana/dpp-sync.json\`](../config/grafana/dpp-sync.json) is a dashboard for Grafana. Tests hold both against these metrics.
`;

const CONVENTIONS = `
Besides these there are the usual metrics of the process and of Node (\`process_…\`, \`nodejs_…\`).

- Labels are names of the config and closed sets of words. They never hold keys of items or texts from outside.
- Every series is there from the first scrape on, so that \`increase()\` sees the first event. A source that has never completed a run has
  the moment 0, so its age is large and a rule about the age fires. What does not apply is \`NaN\`, and no comparison with it holds.
- Counts of the ledger are kept for at least five seconds, and longer where counting takes long: counting never takes more than a
  twentieth of the time, in a thread of its own, however large the ledger is and however often it is scraped. A scrape waits four seconds
  at most for them, and gets the counts before them; the first scrape of a huge ledger may lack them.
- Counters begin at 0 with each start of the daemon.
`;

export function metricsPage(): string {
  const rows = Object.entries<MetricDefinition>(METRICS).map(
    ([name, { type, labels, help }]) => `| \`dpp_sync_${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
  );
  return [INTRODUCTION, '| metric | type | labels | what |', '|---|---|---|---|', ...rows, CONVENTIONS].join('\n');
}
