import { open } from 'node:fs/promises';

/** Makes new names in a folder, and removed ones, last through a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
