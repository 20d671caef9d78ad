/** Cuts UTF-8 that comes in pieces into lines. The part after the last line break is kept for the next piece. */
export function createLineSplitter(): (chunk: Uint8Array) => string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    return lines;
  };
}
