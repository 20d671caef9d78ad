import cliProgress from 'cli-progress';

/** Progress bars for a terminal, on stderr. They disappear when they are stopped. Each has a `label` and a `detail`. */
export function createBarGroup(): cliProgress.MultiBar {
  return new cliProgress.MultiBar(
    {
      format: '  {label} {bar} {percentage}%  {detail}',
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: 28,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
      forceRedraw: true,
      fps: 10,
      stream: process.stderr,
    },
    cliProgress.Presets.shades_classic,
  );
}

/** A label that is padded or cut to the common width. */
export function barLabel(text: string): string {
  return text.padEnd(18).slice(0, 18);
}
