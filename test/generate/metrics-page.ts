import { METRICS, type MetricDefinition } from '../../src/observe/metrics.ts';

const INTRODUCTION = `# Metrics

This page is generated from the code (\`npm run generate\`); change the descriptions in \`src/observe/metrics.ts\`.

The daemon serves its metrics under \`/metrics\` in the text format of Prometheus. A scrape sends the token. A person of any role can
open the page after a login.

\`\`\`yaml
scrape_configs:
  - job_name: dpp-sync
    authorization: { credentials_file: /etc/prometheus/dpp_sync_token }
    static_configs: [{ targets: ["dpp-sync.example.com:4280"] }]
\`\`\`

The host of the target has to be one of [\`web.allowedHosts\`](security.md#the-dashboard-on-the-network). Otherwise the answer is 421.

[\`config/prometheus/alerts.yaml\`](../config/prometheus/alerts.yaml) has rules for alerts, and
[\`config/grafana/dpp-sync.json\`](../config/grafana/dpp-sync.json) is a dashboard for Grafana. Tests compare both with these metrics.
`;

const CONVENTIONS = `
Besides these there are the usual metrics of the process and of Node (\`process_…\`, \`nodejs_…\`).

- The values of labels are names of the config, or words of a fixed list. They are never keys of items or texts from outside.
- Every series exists from the first scrape on, so that \`increase()\` sees the first event. A source that has never completed a run has
  the time 0, so its age is large and a rule about the age fires. A value that does not apply is \`NaN\`, and no comparison with it is true.
- The counts of the ledger are up to five seconds old. If counting takes long, they are kept for up to half a minute. A separate thread does
  the counting, however often the metrics are scraped: in each minute it works for at most 3 seconds, or for two counts if one takes longer
  than 1.5 seconds. A scrape waits at most four seconds for new counts. After that it gets the former counts. The first scrape of a huge
  ledger may lack the counts.
- Counters begin at 0 with each start of the daemon.
`;

export function metricsPage(): string {
  const rows = Object.entries<MetricDefinition>(METRICS).map(
    ([name, { type, labels, help }]) => `| \`dpp_sync_${name}\` | ${type} | ${labels.join(', ')} | ${help} |`,
  );
  return [INTRODUCTION, '| metric | type | labels | what |', '|---|---|---|---|', ...rows, CONVENTIONS].join('\n');
}
