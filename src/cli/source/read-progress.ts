import { barLabel, createBarGroup } from '../text/bars.ts';
import type { Output } from '../text/output.ts';
import { formatCount } from '../text/style.ts';

/** Shows the progress of a read of one stream. */
interface ReadProgress {
  /** @param place bytes or rows, if the connector knows them */
  show(rows: number, place: { done: number; total: number } | null): void;
  /** Ends the progress. Call it before something is printed. */
  stop(): void;
}

const LINE_EVERY_MS = 5000;
const NONE: ReadProgress = { show: () => {}, stop: () => {} };

/** Shows a bar in a terminal, otherwise a line every few seconds. Shows nothing with `--quiet` or `--json`. */
export function createReadProgress(name: string, output: Output): ReadProgress {
  if (output.quiet || output.json) return NONE;
  return output.watched ? createBar(name, output) : createLines(name, output);
}

function createBar(name: string, output: Output): ReadProgress {
  const bars = createBarGroup();
  const bar = bars.create(1, 0, { label: barLabel(name), detail: '' });
  output.divert((text) => bars.log(`${text}\n`));
  return {
    show(rows, place) {
      bar.setTotal(Math.max(1, place?.total ?? rows));
      bar.update(place?.done ?? rows, { detail: `${formatCount(rows)} rows` });
    },
    stop() {
      output.divert(null);
      bars.stop();
    },
  };
}

function createLines(name: string, output: Output): ReadProgress {
  let rows = 0;
  const timer = setInterval(() => output.note(`read ${name} ${formatCount(rows)} rows`), LINE_EVERY_MS);
  return {
    show: (read) => (rows = read),
    stop: () => clearInterval(timer),
  };
}
