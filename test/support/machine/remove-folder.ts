import { rm } from 'node:fs/promises';

/** All waits together are ten seconds: the wait before each retry is longer than the wait before. */
const RETRIES = { maxRetries: 20, retryDelay: 50 };

/**
 * Removes a folder of a test, while a thread or a process that was ended may still write a file into the folder: a
 * thread in native code goes on until its statement ends. (`rmSync` retries too, but hardly waits between its retries.)
 */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, ...RETRIES });
}
