import type { z } from 'zod';
import type { Task } from '../tasks/tasks.ts';
import type { Operation } from './schemas.ts';

/** A task as the admin API shows it. */
export function shown(task: Task): z.input<typeof Operation> {
  const { id, name, title, who, startedAt, endedAt, progress, outcome } = task;
  return { id, name, title, who, startedAt, endedAt, progress: progress === null ? null : { ...progress }, outcome };
}

/** The answer of an operation that has started a task. */
export function started(task: Task) {
  return { status: 202, value: shown(task), headers: { location: `/api/v1/operations/${task.id}` } };
}
