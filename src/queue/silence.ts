/**
 * After this time without an answer, a connection to Redis is closed and opened again, and the commands that wait for
 * an answer are sent again. If the other machine disappears, the kernel would keep the connection open for a quarter of
 * an hour, and the worker would wait as long. BullMQ blocks a connection for ten seconds at most while it waits for a
 * job, so this time is longer.
 */
export const SILENCE_MS = 15_000;
