import { encodeQR } from 'qr';

/** The empty modules around the symbol without which scanners may not find it (ISO/IEC 18004, section 6.3.8). */
const QUIET_ZONE = 4;

/** A run of dark modules in a row, in modules from the upper left corner of the quiet zone. */
export interface QrRun {
  column: number;
  row: number;
  length: number;
}

/** A symbol as what is to be filled. */
export interface QrCode {
  /** Modules in width and in height, the quiet zone included. */
  size: number;
  runs: QrRun[];
}

/**
 * Encodes a text as QR code with error correction M, which stands 15 % of damage.
 *
 * @throws Error for more than 2,331 bytes, which is what such a symbol holds.
 */
export function encodeQrCode(text: string): QrCode {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: QUIET_ZONE });
  const runs = rows.flatMap((modules, row) => {
    const line = modules.map((dark) => (dark ? '#' : ' ')).join('');
    return [...line.matchAll(/#+/g)].map((run) => ({ column: run.index, row, length: run[0].length }));
  });
  return { size: rows.length, runs };
}
