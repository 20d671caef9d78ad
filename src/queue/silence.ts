/**
 * A connection to Redis that has not answered for so long is dropped and made anew, with the commands that wait for an answer
 * sent again. Where the other end has vanished without a word the kernel would hold on to it for a quarter of an hour, and a
 * worker with it. It is longer than BullMQ blocks a connection while it waits for a job, which is ten seconds at most.
 */
export const SILENCE_MS = 15_000;
